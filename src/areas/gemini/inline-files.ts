import { findFile, type StoredFile, toFileId } from '../../account/stored-files.ts'
import { storeOf } from '../../app/file-storage.ts'
import type { Gateway } from '../../app/gateway.ts'
import { listOf, readField } from '../../dialects/gemini/field-names.ts'
import { gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../lib/json-values.ts'
import { parseRequestUrl } from '../../lib/request-url.ts'
import type { IncomingRequest } from '../../pipeline/request/inference-request.ts'

/** `files/4f1c...`, alone or at the end of a URL: this server's names are 24 hexadecimal digits. */
const fileNamePattern = /(?:^|\/)files\/((?:hg_file_)?[0-9a-f]{24})$/

/** The maximum number of file references in a request. */
const maxFiles = 64

/**
 * Replaces references to this server's files by their content, because no provider could fetch them. Other URLs
 * stay unchanged.
 */
export async function inlineFiles(gateway: Gateway, incoming: IncomingRequest): Promise<JsonObject> {
  const { body } = incoming
  const contents = listOf(body.contents)
  const references = contents.flatMap((content, at) => findReferences(content, `contents.${at}`))
  if (references.length === 0) return body
  if (references.length > maxFiles)
    throw invalidFieldError('contents', `refer to more than ${maxFiles} files`)
  const replacements = await readReferences(gateway, incoming, references)
  return { ...body, contents: contents.map((content) => replaceParts(content, replacements)) }
}

interface FileReference {
  /** The original part. */
  part: JsonObject
  uri: string
  id: string
  path: string
}

function findReferences(content: unknown, path: string): FileReference[] {
  return listOf(asObject(content)?.parts).flatMap((entry, at) => {
    const part = asObject(entry)
    const uri = asString(readField(asObject(part && readField(part, 'fileData')) ?? {}, 'fileUri'))
    const name = fileNamePattern.exec(uri ?? '')?.[1]
    if (!part || uri === undefined || name === undefined) return []
    return [{ part, uri, id: toFileId(name), path: `${path}.parts.${at}.fileData.fileUri` }]
  })
}

/** The replacement of each part, without those whose file is on another host. */
async function readReferences(
  gateway: Gateway,
  { caller, httpRequest }: IncomingRequest,
  references: readonly FileReference[],
): Promise<Map<unknown, JsonObject>> {
  const maxBytes = maxInlineBytesOf(gateway)
  let remainingBytes = maxBytes
  const parts = new Map<unknown, JsonObject>()
  for (const { part, uri, id, path } of references) {
    const file = await findFile(gateway.db, caller.key.workspace_id, id)
    if (!file && isOtherHost(uri, httpRequest)) continue
    if (!file) throw invalidFieldError(path, 'the file does not exist')
    const content = await storeOf(gateway, file).read(file.id)
    // Deleted since the lookup.
    if (!content) throw invalidFieldError(path, 'the file does not exist')
    const bytes = await new Response(content).bytes()
    remainingBytes -= bytes.length
    if (remainingBytes < 0) {
      throw gatewayError(
        'body_too_large',
        `${path}: the files of a request can have at most ${maxBytes} bytes in total.`,
      )
    }
    parts.set(part, toPart(file, Buffer.from(bytes)))
  }
  return parts
}

/** As much as the request itself could carry in base64. */
function maxInlineBytesOf({ settings }: Gateway): number {
  return Math.floor((settings.limits.body_bytes * 3) / 4)
}

function isOtherHost(uri: string, request: Request): boolean {
  const host = URL.parse(uri)?.host
  return host !== undefined && host !== parseRequestUrl(request).host
}

/** Text is sent as text, which every model can read. */
function toPart(file: StoredFile, bytes: Buffer): JsonObject {
  if (textTypePattern.test(file.mime_type)) return { text: bytes.toString('utf8') }
  const data = bytes.toString('base64')
  return { inlineData: { mimeType: file.mime_type, data, displayName: file.filename } }
}

const textTypePattern = /^text\/|^application\/(?:x-nd)?json$/

function replaceParts(content: unknown, replacements: ReadonlyMap<unknown, JsonObject>): unknown {
  const object = asObject(content)
  if (!object) return content
  const parts = listOf(object.parts)
  return parts.some((part) => replacements.has(part))
    ? { ...object, parts: parts.map((part) => replacements.get(part) ?? part) }
    : content
}
