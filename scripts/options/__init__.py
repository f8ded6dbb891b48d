# Wherry: the parts of scripts/make-options
# SPDX-License-Identifier: Apache-2.0
