# Wherry: quickstart in Python: JSON, an image upload, and a download
# SPDX-License-Identifier: Apache-2.0
"""python3 quickstart.py BASE-URL IMAGE TARGET"""

import sys

import wherry

base, image, target = sys.argv[1:4]

# readme: begin
with wherry.Client(base_url=base) as client:
    note = client.post("notes", json={"text": "hello"}).json()
    client.upload("photos", [image], quality=0.5, fields={"note": str(note["id"])})
    client.download("big.iso", target, progress=lambda p: print(p.fraction))
# readme: end
print(note["id"])
