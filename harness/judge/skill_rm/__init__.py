"""Skill-RM (arXiv 2606.03980): judging as the execution of a reward-evaluation skill."""
