import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeWavHeader, mixToMono, parseWav, readWavLayout } from './wav.ts'

const mono = { sampleRate: 24_000, channels: 1, bits: 16 }

function buildWav(samples: number[], format = mono): Buffer {
  const data = Buffer.from(Int16Array.from(samples).buffer)
  return Buffer.concat([encodeWavHeader(format, data.length), data])
}

test('a header and its samples are read back', async () => {
  const wav = parseWav(buildWav([1, -2, 300]))!
  expect(wav).toMatchObject(mono)
  expect(await mixToMono(wav)).toEqual(Int16Array.of(1, -2, 300))
})

test('channels are mixed, from any address', async () => {
  const file = buildWav([100, 200, -10, 10], { ...mono, channels: 2 })
  const shifted = Buffer.concat([Buffer.of(0), file]).subarray(1)
  expect(await mixToMono(parseWav(shifted)!)).toEqual(Int16Array.of(150, 0))
})

test('a stream of unknown length, and one cut short, reach to the end, without a broken frame', () => {
  const data = Buffer.alloc(101)
  expect(parseWav(Buffer.concat([encodeWavHeader(mono, null), data]))?.data).toHaveLength(100)
  expect(parseWav(Buffer.concat([encodeWavHeader(mono, 1000), data]))?.data).toHaveLength(100)
  expect(parseWav(Buffer.concat([encodeWavHeader(mono, 0), data]))?.data).toHaveLength(100)
})

test('other chunks are skipped, and all data chunks are counted', () => {
  const file = buildWav([1, 2, 3])
  const list = Buffer.from('LIST\x03\0\0\0abc\0', 'latin1')
  const data = file.subarray(36)
  const whole = Buffer.concat([file.subarray(0, 36), list, data, list, data])
  expect(readWavLayout(whole)).toMatchObject({ dataStart: 56, dataBytes: 6, totalDataBytes: 12 })
})

test('compressed samples, impossible formats and other files are not read', () => {
  const file = buildWav([1, 2, 3])
  const change = (at: number, value: number) => {
    const copy = Buffer.from(file)
    copy.writeUInt16LE(value, at)
    return parseWav(copy)
  }
  expect(change(20, 2)).toBeNull()
  expect(change(22, 0)).toBeNull()
  expect(change(22, 2)).toBeNull()
  expect(change(34, 12)).toBeNull()
  expect(parseWav(Buffer.from('RIFF'))).toBeNull()
  expect(parseWav(file.subarray(0, 40))).toBeNull()
})

test('no bytes make it throw', () => {
  const file = buildWav([1, 2, 3, 4])
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(file.length - 1), fc.nat(255))),
      fc.nat(file.length),
      (changes, end) => {
        const copy = Buffer.from(file)
        for (const [at, value] of changes) copy[at] = value
        const wav = parseWav(copy.subarray(0, end))
        expect(wav === null || wav.data.length <= end).toBe(true)
      },
    ),
  )
})
