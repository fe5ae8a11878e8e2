import { skipTags } from './audio-info.ts'
import { readMpegFrame } from './mpeg-audio.ts'
import { pageHeaderBytes, readOggPage } from './ogg.ts'
import { readWavLayout } from './wav.ts'

type AudioFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm'

/** Whether the first bytes of a recording have anything to play: a whole frame, or a sample. */
export function hasAudio(bytes: Buffer, format: AudioFormat): boolean {
  return detectors[format](bytes)
}

const detectors: Record<AudioFormat, (bytes: Buffer) => boolean> = {
  mp3: (bytes) => hasMpegFrame(bytes, 'mp3'),
  aac: (bytes) => hasMpegFrame(bytes, 'aac'),
  opus: hasOggAudio,
  flac: hasFlacFrame,
  wav: (bytes) => (readWavLayout(bytes)?.dataBytes ?? 0) > 0,
  pcm: (bytes) => bytes.length >= 2,
}

/** Tags do not count. More would take long to search, and is no recording. */
const maxBytesBeforeFrame = 64 * 1024

/** A decoder skips what is not a frame. */
function hasMpegFrame(bytes: Buffer, format: 'mp3' | 'aac'): boolean {
  const start = skipTags(bytes)
  const end = Math.min(bytes.length, start + maxBytesBeforeFrame)
  for (let at = start; at < end; at++) {
    if (bytes[at] !== 0xff) continue
    const frame = readMpegFrame(bytes, at)
    if (frame?.format === format && at + frame.bytes <= bytes.length) return true
  }
  return false
}

/** A page with a position carries audio; the pages of the headers have none. */
function hasOggAudio(bytes: Buffer): boolean {
  for (let at = 0; at + pageHeaderBytes <= bytes.length; ) {
    const page = readOggPage(bytes, at)
    if (!page) return false
    if (page.position > 0 && page.body.length > 0 && page.end <= bytes.length) return true
    at = page.end
  }
  return false
}

/** Whether a frame begins after the signature and the blocks of metadata. */
function hasFlacFrame(bytes: Buffer): boolean {
  if (bytes.toString('latin1', 0, 4) !== 'fLaC') return false
  for (let at = 4; at + 4 <= bytes.length; ) {
    const isLast = bytes.readUInt8(at) >= 128
    at += 4 + bytes.readUIntBE(at + 1, 3)
    if (isLast) return bytes[at] === 0xff && ((bytes[at + 1] ?? 0) & 0xfc) === 0xf8
  }
  return false
}
