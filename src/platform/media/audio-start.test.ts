import { describe, expect, test } from 'bun:test'
import { hasAudio } from './audio-start.ts'
import { encodeWavHeader } from './wav.ts'

const mpegHeader = [0xff, 0xfb, 0x90, 0x00]
const mpegFrame = Buffer.concat([Buffer.from(mpegHeader), Buffer.alloc(413)])
/** MPEG 2, 24 kHz, 48 kbit/s: 144 bytes. */
const mpeg2Frame = Buffer.concat([Buffer.from([0xff, 0xf3, 0x64, 0x00]), Buffer.alloc(140)])
const adtsFrame = Buffer.concat([Buffer.from([0xff, 0xf1, 0x50, 0x80, 0x01, 0x9f, 0xfc]), Buffer.alloc(5)])

function oggPage(granule: bigint, body: Uint8Array): Buffer {
  const header = Buffer.alloc(28)
  header.write('OggS')
  header.writeBigInt64LE(granule, 6)
  header.writeUInt8(1, 26)
  header.writeUInt8(body.length, 27)
  return Buffer.concat([header, body])
}
const opusHeaders = Buffer.concat([
  oggPage(0n, Buffer.from('OpusHead...........')),
  oggPage(0n, Buffer.from('OpusTags........')),
])
const opusPage = oggPage(960n, Buffer.alloc(60, 1))

const flacHead = Buffer.concat([Buffer.from('fLaC'), Buffer.from([0x80, 0, 0, 34]), Buffer.alloc(34)])

describe('audio that can be played', () => {
  const wav = Buffer.from(encodeWavHeader({ sampleRate: 24_000, channels: 1, bits: 16 }, null))
  const id3 = Buffer.concat([Buffer.from('ID3'), Buffer.from([4, 0, 0, 0, 0, 1, 0]), Buffer.alloc(128, 0xff)])

  test.each([
    ['mp3', mpegFrame],
    ['mp3', mpeg2Frame],
    ['mp3', Buffer.concat([id3, mpegFrame])],
    ['mp3', Buffer.concat([Buffer.from([0xff, 1, 2]), mpegFrame])],
    ['aac', adtsFrame],
    ['opus', Buffer.concat([opusHeaders, opusPage])],
    ['flac', Buffer.concat([flacHead, Buffer.from([0xff, 0xf8, 0x69])])],
    ['wav', Buffer.concat([wav, Buffer.alloc(2)])],
    ['pcm', Buffer.alloc(2)],
  ] as const)('%s with a frame or a sample has it', (format, bytes) => {
    expect(hasAudio(bytes, format)).toBeTrue()
  })

  test.each([
    ['mp3', Buffer.alloc(0)],
    ['mp3', mpegFrame.subarray(0, 416)],
    ['mp3', id3],
    ['mp3', Buffer.from('{"error": "no audio"}')],
    ['mp3', Buffer.alloc(5000, 0xff)],
    ['mp3', Buffer.concat([Buffer.alloc(100_000, 0xff), mpegFrame])],
    ['aac', adtsFrame.subarray(0, 11)],
    ['aac', mpegFrame],
    ['opus', opusHeaders],
    ['opus', Buffer.concat([opusHeaders, opusPage.subarray(0, 50)])],
    ['flac', flacHead],
    ['flac', flacHead.subarray(0, 6)],
    ['wav', wav],
    ['wav', mpegFrame],
    ['pcm', Buffer.alloc(1)],
  ] as const)('%s without a whole one does not', (format, bytes) => {
    expect(hasAudio(bytes, format)).toBeFalse()
  })
})
