import type { JsonObject } from '../../platform/json/json-values.ts'
import type { FileFormatName } from '../vocabulary.ts'
import type { UpstreamCodec } from '../wire-format.ts'

/** A file at a vendor, in the internal form. */
export interface VendorFile {
  id: string
  filename: string
  /** Null if the vendor does not send it. */
  mimeType: string | null
  size: number
  /** Milliseconds since 1970. */
  createdAt: number
  purpose: string | null
  isDownloadable: boolean
}

/** Options of a client for a list. */
export interface FileListOptions {
  limit: number
  /** Ids of files: the page begins after one, or ends before one. */
  after?: string | undefined
  before?: string | undefined
  order?: string | undefined
  purpose?: string | undefined
}

/**
 * The format of a vendor's file storage. All have the same paths: `/files`, `/files/{id}` and `/files/{id}/content`.
 * The header of the key and the errors are those of the vendor's other operations.
 */
export interface FileFormat extends Pick<UpstreamCodec, 'defaults' | 'decodeError'> {
  name: FileFormatName
  /** The names of its query parameters; an option without one is not supported. */
  listParameters: Readonly<Partial<Record<keyof FileListOptions, string>>>
  /** The fields of an upload besides the file. */
  uploadFields: readonly string[]
  /** Fields that the vendor requires, if the client sends none. */
  uploadDefaults: Readonly<Record<string, string>>
  /** Null if it is not a file of this format. */
  decodeFile(body: JsonObject): VendorFile | null
}
