import type { FileHandle } from 'node:fs/promises'
import { detectOfficeType } from './office.ts'
import { readAt } from './read-at.ts'
import { detectTextType, looksLikeText } from './text.ts'

/** Bytes that are read: more than any signature needs, and enough to distinguish text from binary data. */
export const headBytes = 4096

type Signature = { type: string; marks: [offset: number, bytes: string][] }

/** Bytes are written as Latin-1 characters. */
const signatures: Signature[] = [
  { type: 'application/pdf', marks: [[0, '%PDF-']] },
  { type: 'image/png', marks: [[0, '\x89PNG\r\n\x1a\n']] },
  { type: 'image/jpeg', marks: [[0, '\xff\xd8\xff']] },
  { type: 'image/gif', marks: [[0, 'GIF87a']] },
  { type: 'image/gif', marks: [[0, 'GIF89a']] },
  {
    type: 'image/webp',
    marks: [
      [0, 'RIFF'],
      [8, 'WEBP'],
    ],
  },
  {
    type: 'audio/wav',
    marks: [
      [0, 'RIFF'],
      [8, 'WAVE'],
    ],
  },
  { type: 'audio/flac', marks: [[0, 'fLaC']] },
  { type: 'audio/ogg', marks: [[0, 'OggS']] },
  { type: 'audio/mpeg', marks: [[0, 'ID3']] },
]

const zipSignature = 'PK\x03\x04'

/** False if no supported file starts like this. */
export function canBeAccepted(head: Buffer): boolean {
  return matchSignature(head) !== undefined || hasBytesAt(head, 0, zipSignature) || looksLikeText(head)
}

/** The media type of a whole file by its content; undefined if unsupported. */
export async function sniffType(
  file: FileHandle,
  size: number,
  filename: string,
): Promise<string | undefined> {
  const head = await readAt(file, 0, Math.min(size, headBytes))
  const type = matchSignature(head)
  if (type) return type
  if (hasBytesAt(head, 0, zipSignature)) return detectOfficeType(file, size)
  return looksLikeText(head) ? detectTextType(file, size, filename) : undefined
}

function matchSignature(head: Buffer): string | undefined {
  const signature = signatures.find(({ marks }) =>
    marks.every(([offset, bytes]) => hasBytesAt(head, offset, bytes)),
  )
  return signature?.type ?? (isMpegFrame(head) ? 'audio/mpeg' : undefined)
}

function hasBytesAt(head: Buffer, offset: number, bytes: string): boolean {
  return head.toString('latin1', offset, offset + bytes.length) === bytes
}

/** MP3 without a tag starts with a frame: eleven set bits, layer III, a valid bit rate and sample rate. */
function isMpegFrame(head: Buffer): boolean {
  const [sync = 0, version = 0, rates = 0] = head
  const layerThree = sync === 0xff && (version & 0xe6) === 0xe2 && (version & 0x18) !== 0x08
  const bitRate = rates >> 4
  return layerThree && bitRate !== 0 && bitRate !== 15 && (rates & 0x0c) !== 0x0c
}
