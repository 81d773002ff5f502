;; world: detector
;;
;; Never accepts its configuration: a policy that names it does not load.
(module
  (memory (export "memory") 1)
  (data (i32.const 0) "hostile" "1" "BAD")
  ;; At 16 the list of labels: one, 3 bytes at 8.
  (data (i32.const 16) "\08\00\00\00\03\00\00\00")
  ;; At 64 what it says about itself: name, version, summary, labels; no schema, no attributes.
  (data (i32.const 64) "\00\00\00\00\07\00\00\00" "\07\00\00\00\01\00\00\00" "\00\00\00\00\00\00\00\00" "\10\00\00\00\01\00\00\00")

  ;; Arguments lie one upon the other behind the constants: nothing here reads them.
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (i32.const 1024))

  (func (export "leafgate:plugin/lifecycle@0.1.0#describe") (result i32)
    (i32.const 64))

  (func (export "leafgate:plugin/lifecycle@0.1.0#configure") (param i32 i32) (result i32)
    (loop $again (result i32) (br $again)))

  (func (export "leafgate:plugin/detect@0.1.0#detect") (param i32 i32) (result i32)
    ;; Zeros: an empty list.
    (i32.const 192)))
