"""An endpoint whose answers take log-normal times (SIMULATED); each request goes to a file.

python -m tests.fleet.storm_endpoint FILE MEDIAN SIGMA    seconds
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path

from benchmarks.endpoints import completion, http_reply

REPLY = http_reply(json.dumps(completion("4", "mock", (100, 10))).encode())


async def main(log: Path, median: float, sigma: float) -> None:
    """Serve on a free port of loopback until killed; prints the port."""
    rng, requests = random.Random(41), log.open("ab", buffering=0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                body = json.loads(await reader.readexactly(size))
                requests.write(f"{body['messages'][-1]['content']}\n".encode())
                await asyncio.sleep(median * rng.lognormvariate(0, sigma))
                writer.write(REPLY)
            except (asyncio.IncompleteReadError, ConnectionError):
                break
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *map(float, sys.argv[2:])))
