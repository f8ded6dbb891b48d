# Wherry: the usual words, for those who do not know CMake
# SPDX-License-Identifier: Apache-2.0
#
#   make && make install PREFIX=/usr/local DESTDIR=/tmp/package
PREFIX ?= /usr/local
BUILD ?= build

.PHONY: all check docs install clean
all: $(BUILD)/build.ninja
	cmake --build $(BUILD)

$(BUILD)/build.ninja:
	cmake -G Ninja -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)

check: all
	ctest --test-dir $(BUILD) --output-on-failure

docs:
	scripts/docs $(BUILD)/site

install: all
	DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX) --strip

clean:
	cmake --build $(BUILD) --target clean
