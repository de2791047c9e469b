;; CRC-32 (the one of zlib), 16 bytes at a time: crc32.js has the compiled form. Memory: 16 tables of 256 numbers, of which the k-th is of a byte
;; that is followed by k zeros; from 32768 on, the bytes.
;; To compile it: npx -p wabt wat2wasm crc32.wat -o crc32.wasm

(module
  (memory (export "memory") 2)

  (func $init (local $byte i32) (local $crc i32) (local $bit i32) (local $at i32)
    (loop $bytes
      (local.set $crc (local.get $byte))
      (local.set $bit (i32.const 0))
      (loop $bits
        ;; the polynomial, if the last bit is set
        (local.set $crc (i32.xor
          (i32.shr_u (local.get $crc) (i32.const 1))
          (i32.and (i32.sub (i32.const 0) (i32.and (local.get $crc) (i32.const 1))) (i32.const 0xEDB88320))))
        (local.set $bit (i32.add (local.get $bit) (i32.const 1)))
        (br_if $bits (i32.lt_u (local.get $bit) (i32.const 8))))
      (i32.store (i32.shl (local.get $byte) (i32.const 2)) (local.get $crc))
      (local.set $byte (i32.add (local.get $byte) (i32.const 1)))
      (br_if $bytes (i32.lt_u (local.get $byte) (i32.const 256))))
    ;; each further table from the one before
    (local.set $at (i32.const 1024))
    (loop $entries
      (local.set $crc (i32.load (i32.sub (local.get $at) (i32.const 1024))))
      (i32.store (local.get $at) (i32.xor
        (i32.shr_u (local.get $crc) (i32.const 8))
        (i32.load offset=0 (i32.shl (i32.and (local.get $crc) (i32.const 0xFF)) (i32.const 2)))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $entries (i32.lt_u (local.get $at) (i32.const 16384)))))
  (start $init)

  (func (export "crc32") (param $crc i32) (param $at i32) (param $length i32) (result i32)
    (local $end i32) (local $a i32) (local $b i32) (local $c i32) (local $d i32)
    (local.set $crc (i32.xor (local.get $crc) (i32.const -1)))
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (block $few
      (loop $sixteen
        (br_if $few (i32.gt_u (i32.add (local.get $at) (i32.const 16)) (local.get $end)))
        (local.set $a (i32.xor (local.get $crc) (i32.load (local.get $at))))
        (local.set $b (i32.load offset=4 (local.get $at)))
        (local.set $c (i32.load offset=8 (local.get $at)))
        (local.set $d (i32.load offset=12 (local.get $at)))
        (i32.load offset=15360 (i32.shl (i32.and (local.get $a) (i32.const 0xFF)) (i32.const 2)))
        (i32.load offset=14336 (i32.shl (i32.and (i32.shr_u (local.get $a) (i32.const 8)) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=13312 (i32.shl (i32.and (i32.shr_u (local.get $a) (i32.const 16)) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=12288 (i32.shl (i32.shr_u (local.get $a) (i32.const 24)) (i32.const 2)))
        i32.xor
        (i32.load offset=11264 (i32.shl (i32.and (local.get $b) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=10240 (i32.shl (i32.and (i32.shr_u (local.get $b) (i32.const 8)) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=9216 (i32.shl (i32.and (i32.shr_u (local.get $b) (i32.const 16)) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=8192 (i32.shl (i32.shr_u (local.get $b) (i32.const 24)) (i32.const 2)))
        i32.xor
        (i32.load offset=7168 (i32.shl (i32.and (local.get $c) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=6144 (i32.shl (i32.and (i32.shr_u (local.get $c) (i32.const 8)) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=5120 (i32.shl (i32.and (i32.shr_u (local.get $c) (i32.const 16)) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=4096 (i32.shl (i32.shr_u (local.get $c) (i32.const 24)) (i32.const 2)))
        i32.xor
        (i32.load offset=3072 (i32.shl (i32.and (local.get $d) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=2048 (i32.shl (i32.and (i32.shr_u (local.get $d) (i32.const 8)) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=1024 (i32.shl (i32.and (i32.shr_u (local.get $d) (i32.const 16)) (i32.const 0xFF)) (i32.const 2)))
        i32.xor
        (i32.load offset=0 (i32.shl (i32.shr_u (local.get $d) (i32.const 24)) (i32.const 2)))
        i32.xor
        (local.set $crc)
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $sixteen)))
    (block $none
      (loop $one
        (br_if $none (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $crc (i32.xor
          (i32.shr_u (local.get $crc) (i32.const 8))
          (i32.load offset=0 (i32.shl (i32.and (i32.xor (local.get $crc) (i32.load8_u (local.get $at))) (i32.const 0xFF)) (i32.const 2)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $one)))
    (i32.xor (local.get $crc) (i32.const -1))))
