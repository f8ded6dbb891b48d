# Wherry: a small payload in the encodings that Python cannot produce.
# SPDX-License-Identifier: Apache-2.0
"""The same JSON text uncompressed, in Brotli and in Zstandard."""

import base64

PLAIN = (
    b'{"coding":"wherry","text":"the quick brown fox jumps over the lazy dog, '
    b'the quick brown fox jumps over the lazy dog"}'
)
BROTLI = base64.b64decode(
    "G3QAAMTcRqkelxeSrckfhMEUdIpOOQ1UW2BJnlggZ7jz8IiOsygx62PSBV4G7l7MnEIhgaVvRCezVQ8qZiLAjngdWZvwxmB+"
)
ZSTD = base64.b64decode(
    "KLUv/QBodQIAokQRGJBZB4AtaSUvCLLAP9lMSOD/vU4hrz/IAY3+LFafC1B82Xuvwk8OAw6X"
    "LNxF7uBEahD5sqdIn9ynR2f3sqhIl2uKkzIBAQAI0FRR"
)
