import type { Gateway } from '../../gateway/gateway.ts'
import { Base64Stream } from '../../platform/text/base64-stream.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { storeOf } from '../../storage/file-storage.ts'
import type { StoredFile } from '../../storage/stored-files.ts'

/** The content of a file in the form that prompts carry: text as it is, everything else in base64. */
export interface FileContent {
  file: StoredFile
  isText: boolean
  data: string
  /** The number of bytes. */
  size: number
}

/**
 * Reads the bytes of a file: null if they are missing, `too-large` if they are more than `maxBytes`, whatever the row
 * says.
 */
export async function readFileContent(
  gateway: Gateway,
  file: StoredFile,
  maxBytes: number,
): Promise<FileContent | null | 'too-large'> {
  if (file.size_bytes > maxBytes) return 'too-large'
  const body = await storeOf(gateway, file).read(file.id)
  if (!body) return null
  const isText = textTypePattern.test(file.mime_type)
  const encoder = isText ? new TextEncoding() : new Base64Encoding()
  let size = 0
  for await (const chunk of body instanceof Blob ? body.stream() : body) {
    size += chunk.byteLength
    if (size > maxBytes) return 'too-large'
    for (let at = 0; at < chunk.byteLength; at += sliceBytes) {
      encoder.add(chunk.subarray(at, at + sliceBytes))
      if (at > 0) await yieldToEventLoop()
    }
  }
  return { file, isText, data: encoder.end(), size }
}

const textTypePattern = /^text\/|^application\/(?:x-nd)?json$/

/** Takes less than a millisecond to encode. */
const sliceBytes = 256 * 1024

class TextEncoding {
  readonly #decoder = new TextDecoder()
  readonly #texts: string[] = []

  add(bytes: Uint8Array): void {
    this.#texts.push(this.#decoder.decode(bytes, { stream: true }))
  }

  end(): string {
    this.#texts.push(this.#decoder.decode())
    return this.#texts.join('')
  }
}

class Base64Encoding {
  readonly #stream = new Base64Stream()
  readonly #texts: string[] = []

  add(bytes: Uint8Array): void {
    this.#texts.push(this.#stream.add(bytes))
  }

  end(): string {
    this.#texts.push(this.#stream.end())
    return this.#texts.join('')
  }
}
