#!/usr/bin/env perl
# Wherry from Perl, with FFI::Platypus.
# usage: perl transfers.pl BASE-URL PICTURE FILE
# WHERRY_LIBRARY is the path of a library that is not installed.
use v5.32;
use warnings;
use FFI::Platypus;

package Wherry::Error {
    use overload '""' => sub { "$_[0]{message}\n" }, fallback => 1;

    sub throw {
        my ($class, $error) = @_;
        die bless {
            reason  => Wherry::wherry_error_reason($error),
            message => Wherry::wherry_error_message($error),
        }, $class;
    }
}

package Wherry {
    use FFI::Platypus::Buffer qw(buffer_to_scalar scalar_to_pointer);
    use constant { OK => 0, E_TIMEOUT => -3, TEXT_BASE_URL => 1, IMAGE_FORMAT => 4, IMAGE_JPEG => 1 };
    use constant { EVENT_PROGRESS => 1, EVENT_IMAGE => 6, EVENT_DONE => 9 };
    use constant { RECORD_SIZE => 112, RECORD => 'Q4 l2 q l L Q4 q2 Q', BATCH => 32 };

    # The functions of wherry.h that this program calls. A handle is an opaque number.
    my $ffi = FFI::Platypus->new(api => 2, lib => $ENV{WHERRY_LIBRARY} // 'libwherry.so.0');
    $ffi->attach(@$_) for (
        [wherry_last_error => [] => 'opaque'],
        [wherry_error_reason => ['opaque'] => 'string'],
        [wherry_error_message => ['opaque'] => 'string'],
        [wherry_config_new => ['opaque*'] => 'sint32'],
        [wherry_config_free => ['opaque'] => 'sint32'],
        [wherry_config_set_text => ['opaque', 'sint32', 'string'] => 'sint32'],
        [wherry_client_new => ['opaque', 'opaque*'] => 'sint32'],
        [wherry_client_free => ['opaque'] => 'sint32'],
        [wherry_client_send => ['opaque', 'opaque', 'opaque', 'opaque', 'opaque'] => 'sint32'],
        [wherry_client_download => ['opaque', 'opaque', 'string', 'opaque', 'opaque', 'opaque'] => 'sint32'],
        [wherry_client_upload_images => ['opaque', 'opaque', 'string', 'string[]', 'size_t', 'opaque', 'opaque',
            'opaque', 'opaque'] => 'sint32'],
        [wherry_request_new => ['string', 'string', 'opaque*'] => 'sint32'],
        [wherry_request_free => ['opaque'] => 'sint32'],
        [wherry_compression_new => ['double', 'opaque*'] => 'sint32'],
        [wherry_compression_free => ['opaque'] => 'sint32'],
        [wherry_compression_set_option => ['opaque', 'sint32', 'sint64'] => 'sint32'],
        [wherry_queue_new => ['opaque*'] => 'sint32'],
        [wherry_queue_free => ['opaque'] => 'sint32'],
        [wherry_queue_fd => ['opaque'] => 'sint32'],
        [wherry_queue_read => ['opaque', 'opaque', 'size_t', 'sint64', 'size_t*'] => 'sint32'],
        [wherry_queue_release => ['opaque', 'opaque', 'size_t'] => 'sint32'],
        [wherry_event_error => ['opaque'] => 'opaque'],
        [wherry_event_text => ['opaque'] => 'string'],
    );

    sub check {
        my ($status) = @_;
        Wherry::Error->throw(wherry_last_error()) if $status != OK;
    }

    # Calls $body, then $cleanup, even if $body dies.
    sub finally {
        my ($body, $cleanup) = @_;
        my $ok = eval { $body->(); 1 };
        my $error = $@;
        $cleanup->();
        die $error unless $ok;
        return;
    }

    sub new {
        my ($class, $base) = @_;
        my $self = bless { handlers => {}, last => 0 }, $class;    # handlers by the number that the events carry
        check(wherry_config_new(\my $config));
        finally(sub {
            check(wherry_config_set_text($config, TEXT_BASE_URL, $base));
            check(wherry_client_new($config, \$self->{client}));
            check(wherry_queue_new(\$self->{queue}));
        }, sub { check(wherry_config_free($config)) });
        return $self;
    }

    sub DESTROY {
        my ($self) = @_;
        wherry_client_free($self->{client});
        wherry_queue_free($self->{queue});
    }

    # Starts a transfer. `run` passes the response to $on{done}, progress to $on{progress}->($done, $expected), and a
    # compressed picture to $on{image}->($name, $original_size, $encoded_size).
    sub start {
        my ($self, $method, $path, $send, %on) = @_;
        my $number = ++$self->{last};
        check(wherry_request_new($method, $path, \my $request));
        finally(sub { check($send->($request, $number)) }, sub { check(wherry_request_free($request)) });
        $self->{handlers}{$number} = \%on;
        return;
    }

    sub get {
        my ($self, $path, %on) = @_;
        return $self->start(GET => $path,
            sub { wherry_client_send($self->{client}, $_[0], $self->{queue}, $_[1], undef) }, %on);
    }

    sub upload {
        my ($self, $path, $picture, $quality, %on) = @_;
        check(wherry_compression_new($quality, \my $compression));
        finally(sub {
            check(wherry_compression_set_option($compression, IMAGE_FORMAT, IMAGE_JPEG));
            $self->start(POST => $path, sub {
                wherry_client_upload_images($self->{client}, $_[0], 'photo', [$picture], 1, $compression,
                    $self->{queue}, $_[1], undef);
            }, %on);
        }, sub { check(wherry_compression_free($compression)) });
        return;
    }

    sub download {
        my ($self, $path, $target, %on) = @_;
        return $self->start(GET => $path,
            sub { wherry_client_download($self->{client}, $_[0], $target, $self->{queue}, $_[1], undef) }, %on);
    }

    # Calls the handlers until every transfer has ended. Unlike a wait in C, `select` lets Perl handle signals.
    sub run {
        my ($self) = @_;
        my $memory = "\0" x (RECORD_SIZE * BATCH);
        while (%{ $self->{handlers} }) {
            vec(my $readable = '', wherry_queue_fd($self->{queue}), 1) = 1;
            select $readable, undef, undef, undef;
            substr $memory, 0, 8, pack('Q', RECORD_SIZE);
            my $records = scalar_to_pointer($memory);
            my $status = wherry_queue_read($self->{queue}, $records, BATCH, 0, \my $count);
            next if $status == E_TIMEOUT;
            check($status);
            finally(sub {
                $self->handle(unpack RECORD, substr $memory, $_ * RECORD_SIZE, RECORD_SIZE) for 0 .. $count - 1;
            }, sub { check(wherry_queue_release($self->{queue}, $records, $count)) });
        }
        return;
    }

    sub handle {
        my ($self, undef, $event, $number, undef, $kind, $status, undef, $http_code, undef, $body, $count, undef, undef,
            $done, $expected) = @_;
        my $on = $self->{handlers}{$number} or return;
        if ($kind == EVENT_PROGRESS) {
            $on->{progress}->($done, $expected) if $on->{progress};
        } elsif ($kind == EVENT_IMAGE) {
            $on->{image}->(wherry_event_text($event), $expected, $done) if $on->{image};
        } elsif ($kind == EVENT_DONE) {
            delete $self->{handlers}{$number};
            Wherry::Error->throw(wherry_event_error($event)) if $status != OK;
            my $response = { status => $http_code, body => $count ? buffer_to_scalar($body, $count) : '' };
            $on->{done}->($response) if $on->{done};
        }
        return;
    }
}

die "usage: perl transfers.pl BASE-URL PICTURE FILE\n" if @ARGV < 3;
my ($base, $picture, $target) = @ARGV;
my $client = Wherry->new($base);

$client->get('text/hello', done => sub { say "GET: $_[0]{status} $_[0]{body}" });
$client->run;

my @bodies;
for my $i (0 .. 49) {
    $client->get("bytes/@{[1000 + $i]}?delay_ms=20", done => sub { $bodies[$i] = $_[0]{body} });
}
$client->run;
my $bytes = length join '', @bodies;
say scalar(grep { defined } @bodies), " responses, $bytes bytes";

$client->upload(
    'upload-photo', $picture, 0.5,
    progress => sub { say "upload: $_[0] of $_[1] bytes" },
    image    => sub { say "$_[0]: $_[1] bytes compressed to $_[2]" },
    done     => sub { say "upload: $_[0]{status}" },
);
$client->run;

$client->download(
    'bytes/3000000?rate=6000000', $target,
    progress => sub { say "download: $_[0] of $_[1] bytes" },
    done     => sub { say "saved $target" },
);
$client->run;

$client->get('status/404');
my $ok = eval { $client->run; 1 };
if (!$ok) {
    my $error = $@;
    die $error unless ref $error && $error->isa('Wherry::Error');
    say "error: $error->{reason}: $error->{message}";
}
