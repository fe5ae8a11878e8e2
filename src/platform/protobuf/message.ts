/** `hex`: bytes, as hexadecimal digits. */
type Scalar = 'string' | 'hex' | 'bool' | 'enum' | 'uint64' | 'int64' | 'sint' | 'double' | 'fixed64'

/** A field: its number, and its type or the fields of its message. Lists of numbers are packed. */
export type Field = readonly [number: number, type: Scalar | (() => Schema)]

/** The fields of a message by name. */
export type Schema = Readonly<Record<string, Field>>

/**
 * Encodes an object as a message of protobuf. Undefined fields are left out, lists are repeated fields.
 * A value of `fixed64` may also be a text. A field that the schema does not name is an error.
 */
export function encodeMessage(schema: Schema, message: object): Uint8Array {
  const writer = new Writer()
  writer.message(schema, message)
  return writer.finish()
}

/** The message after its length, so that several can follow each other. */
export function encodeDelimited(schema: Schema, message: object): Uint8Array {
  const writer = new Writer()
  writer.delimited(schema, message)
  return writer.finish()
}

const wireTypes = { varint: 0, fixed64: 1, length: 2 } as const

const wireTypeOf: Readonly<Record<Scalar, number>> = {
  string: wireTypes.length,
  hex: wireTypes.length,
  bool: wireTypes.varint,
  enum: wireTypes.varint,
  uint64: wireTypes.varint,
  int64: wireTypes.varint,
  sint: wireTypes.varint,
  double: wireTypes.fixed64,
  fixed64: wireTypes.fixed64,
}

/** The bytes of a length up to this are one. */
const maxShortLength = 127

class Writer {
  #buffer = Buffer.allocUnsafe(4096)
  #at = 0

  finish(): Uint8Array {
    return this.#buffer.subarray(0, this.#at)
  }

  message(schema: Schema, message: object): void {
    for (const [name, value] of Object.entries(message)) {
      if (value === undefined) continue
      const field = schema[name]
      if (!field) throw new Error(`the message has no field ${name}`)
      if (Array.isArray(value)) this.#list(field, value)
      else this.#single(field, value)
    }
  }

  delimited(schema: Schema, message: object): void {
    this.#withLength(() => this.message(schema, message))
  }

  #single([number, type]: Field, value: unknown): void {
    if (typeof type === 'function') {
      this.#tag(number, wireTypes.length)
      this.delimited(type(), value as object)
      return
    }
    this.#tag(number, wireTypeOf[type])
    this.#scalar(type, value)
  }

  #list(field: Field, values: readonly unknown[]): void {
    const [number, type] = field
    if (typeof type === 'function' || wireTypeOf[type] === wireTypes.length) {
      for (const value of values) this.#single(field, value)
      return
    }
    if (values.length === 0) return
    this.#tag(number, wireTypes.length)
    this.#withLength(() => {
      for (const value of values) this.#scalar(type, value)
    })
  }

  #scalar(type: Scalar, value: unknown): void {
    if (type === 'string') this.#bytes(Buffer.from(String(value)))
    else if (type === 'hex') this.#bytes(Buffer.from(String(value), 'hex'))
    else if (type === 'double') {
      this.#reserve(8)
      this.#at = this.#buffer.writeDoubleLE(Number(value), this.#at)
    } else if (type === 'fixed64') {
      this.#reserve(8)
      this.#at = this.#buffer.writeBigUInt64LE(BigInt(value as number | string), this.#at)
    } else if (type === 'sint') this.#varint(zigzag(Number(value)))
    else this.#varint(Number(value))
  }

  #bytes(bytes: Uint8Array): void {
    this.#varint(bytes.length)
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** The length precedes what it is the length of: it is one byte, unless more turn out to be necessary. */
  #withLength(write: () => void): void {
    this.#reserve(1)
    const start = ++this.#at
    write()
    const length = this.#at - start
    if (length > maxShortLength) {
      const content = Buffer.from(this.#buffer.subarray(start, this.#at))
      this.#at = start - 1
      this.#bytes(content)
    } else this.#buffer[start - 1] = length
  }

  #tag(number: number, wireType: number): void {
    this.#varint(number * 8 + wireType)
  }

  /** Not negative, and exact as a number. */
  #varint(value: number): void {
    this.#reserve(10)
    let rest = value
    while (rest > maxShortLength) {
      this.#buffer[this.#at++] = (rest % 128) + 128
      rest = Math.floor(rest / 128)
    }
    this.#buffer[this.#at++] = rest
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe((this.#at + length) * 2)
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
  }
}

function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value
}
