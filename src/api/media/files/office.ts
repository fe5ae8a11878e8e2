import type { FileHandle } from 'node:fs/promises'
import { readAt } from './read-at.ts'

const officeTypePrefix = 'application/vnd.openxmlformats-officedocument'

/** An Office document is a zip whose parts are in a folder named after the application. */
const officeTypes = [
  { folder: 'word/', type: `${officeTypePrefix}.wordprocessingml.document` },
  { folder: 'xl/', type: `${officeTypePrefix}.spreadsheetml.sheet` },
  { folder: 'ppt/', type: `${officeTypePrefix}.presentationml.presentation` },
]

/** The maximum size of a zip's end record: 22 bytes and a comment. */
const maxEndRecordBytes = 22 + 0xffff
/** Tens of thousands of names; real documents have a few hundred. */
const maxDirectoryBytes = 4 * 1024 * 1024

/** Reads the names in the zip's directory; nothing is unpacked. */
export async function detectOfficeType(file: FileHandle, size: number): Promise<string | undefined> {
  const names = await readEntryNames(file, size)
  if (!names.includes('[Content_Types].xml')) return undefined
  return officeTypes.find(({ folder }) => names.some((name) => name.startsWith(folder)))?.type
}

async function readEntryNames(file: FileHandle, size: number): Promise<string[]> {
  const tailBytes = Math.min(size, maxEndRecordBytes)
  const tail = await readAt(file, size - tailBytes, tailBytes)
  const at = tail.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (at < 0 || at + 22 > tail.length) return []
  const length = tail.readUInt32LE(at + 12)
  const offset = tail.readUInt32LE(at + 16)
  if (length > maxDirectoryBytes || offset + length > size) return []
  return parseEntryNames(await readAt(file, offset, length))
}

function parseEntryNames(directory: Buffer): string[] {
  const names: string[] = []
  let at = 0
  while (at + 46 <= directory.length && directory.toString('latin1', at, at + 4) === 'PK\x01\x02') {
    const nameLength = directory.readUInt16LE(at + 28)
    const tailLength = directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
    names.push(directory.toString('utf8', at + 46, at + 46 + nameLength))
    at += 46 + nameLength + tailLength
  }
  return names
}
