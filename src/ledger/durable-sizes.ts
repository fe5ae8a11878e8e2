import { closeSync, existsSync, fdatasync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisifyCall, type SegmentId, syncDirectory } from './journal-segment.ts'

/** The bytes of a segment that were on disk, and its file in the journal. */
export interface DurableSize {
  fileNumber: number
  segmentId: SegmentId
  size: number
}

/** No record spans two sectors: after a power cut each is either old or new. */
const recordBytes = 128
const recordPattern = /^((\d+) (\w+) (\d+) (\d+)) (\d+) *\n$/

/**
 * One record next to the journal for each of its files: at start, what is found is compared with what was on
 * disk when requests were acknowledged. A record is written after the data is on disk, so that it never
 * claims too much.
 */
export class DurableSizes {
  readonly path: string
  #file: number | null = null

  /** Takes the path of the database. */
  constructor(database: string) {
    this.path = `${database}-ledger-durable`
  }

  /** Null when there is no such file; damaged records are ignored. */
  read(): DurableSize[] | null {
    if (!existsSync(this.path)) return null
    const text = readFileSync(this.path, 'latin1')
    const recordNumbers = Array.from({ length: Math.ceil(text.length / recordBytes) }, (_, index) => index)
    return recordNumbers.flatMap((recordNumber) =>
      decodeRecord(text.slice(recordNumber * recordBytes, (recordNumber + 1) * recordBytes)),
    )
  }

  /** Starts a new file; resolves when it survives a power cut. */
  async create(): Promise<void> {
    this.close()
    this.#file = openSync(this.path, 'w', 0o600)
    await this.sync()
    await syncDirectory(dirname(this.path))
  }

  /** Survives the end of this process once it returns. */
  record({ fileNumber, segmentId, size }: DurableSize): void {
    if (this.#file === null) return
    const text = `${fileNumber} ${segmentId.journal} ${segmentId.number} ${size}`
    const record = `${text} ${Bun.hash.xxHash32(text)}`.padEnd(recordBytes - 1)
    writeSync(this.#file, `${record}\n`, fileNumber * recordBytes)
  }

  /** Resolves when the records also survive a power cut. */
  async sync(): Promise<void> {
    const file = this.#file
    if (file !== null) await promisifyCall((done) => fdatasync(file, done))
  }

  remove(): void {
    this.close()
    if (existsSync(this.path)) unlinkSync(this.path)
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }
}

function decodeRecord(text: string): DurableSize[] {
  const [, hashed, fileNumber, journal, number, size, hash] = recordPattern.exec(text) ?? []
  if (hashed === undefined || journal === undefined || Number(hash) !== Bun.hash.xxHash32(hashed)) return []
  return [
    { fileNumber: Number(fileNumber), segmentId: { journal, number: Number(number) }, size: Number(size) },
  ]
}
