/** The cyclic redundancy checks of FLAC and Ogg: highest bit first, starting with zero. */
export interface Crc {
  bits: 8 | 16 | 32
  table: Uint32Array
}

export function createCrc(bits: Crc['bits'], polynomial: number): Crc {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte * 2 ** (bits - 8)
    for (let bit = 0; bit < 8; bit++) {
      const isHigh = value >= 2 ** (bits - 1)
      value = keepBits((value << 1) ^ (isHigh ? polynomial : 0), bits)
    }
    return value
  })
  return { bits, table }
}

export function computeCrc({ bits, table }: Crc, bytes: Uint8Array): number {
  let value = 0
  for (const byte of bytes) {
    const index = ((value >>> (bits - 8)) ^ byte) & 0xff
    value = keepBits((value << 8) ^ (table[index] ?? 0), bits)
  }
  return value
}

function keepBits(value: number, bits: Crc['bits']): number {
  return bits === 32 ? value >>> 0 : value & (2 ** bits - 1)
}
