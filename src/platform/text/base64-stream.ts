/** Bytes that arrive in parts, as one text of base64. */
export class Base64Stream {
  #carried: Uint8Array = new Uint8Array()

  /** The text of the bytes so far that is final: four characters for every three bytes. */
  add(bytes: Uint8Array): string {
    const joined = Buffer.concat([this.#carried, bytes])
    const whole = joined.length - (joined.length % 3)
    this.#carried = joined.subarray(whole)
    return joined.subarray(0, whole).toString('base64')
  }

  end(): string {
    const rest = Buffer.from(this.#carried).toString('base64')
    this.#carried = new Uint8Array()
    return rest
  }
}
