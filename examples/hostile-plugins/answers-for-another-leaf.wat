;; world: detector
;;
;; Finds something in leaf 7777, which it was not given.
(module
  (memory (export "memory") 1)
  (data (i32.const 0) "hostile" "1" "BAD")
  ;; At 16 the list of labels: one, 3 bytes at 8.
  (data (i32.const 16) "\08\00\00\00\03\00\00\00")
  ;; At 64 what it says about itself: name, version, summary, labels; no schema, no attributes.
  (data (i32.const 64) "\00\00\00\00\07\00\00\00" "\07\00\00\00\01\00\00\00" "\00\00\00\00\00\00\00\00" "\10\00\00\00\01\00\00\00")
  ;; At 128 a finding: leaf, start, end, label, confidence.
  (data (i32.const 128) "\61\1e\00\00" "\00\00\00\00" "\01\00\00\00" "\00\00\00\00" "\02")
  ;; At 160 the answer: a list of one at 128.
  (data (i32.const 160) "\00\00\00\00" "\80\00\00\00" "\01\00\00\00")

  ;; Arguments lie one upon the other behind the constants: nothing here reads them.
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (i32.const 1024))

  (func (export "leafgate:plugin/lifecycle@0.1.0#describe") (result i32)
    (i32.const 64))

  (func (export "leafgate:plugin/lifecycle@0.1.0#configure") (param i32 i32) (result i32)
    ;; Zeros: accepted.
    (i32.const 192))

  (func (export "leafgate:plugin/detect@0.1.0#detect") (param i32 i32) (result i32)
    (i32.const 160)))
