"""Readers of pictures: text, charts, shapes. They need numpy, OpenCV and rapidocr and nothing of
ours, because they are copied into the sandbox and run there."""
