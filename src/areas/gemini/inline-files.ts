import { contentPath, findFile, idOfName, type StoredFile } from '../../account/stored-files.ts'
import { field, listOf } from '../../dialects/gemini/names.ts'
import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import { requestUrl } from '../../lib/url.ts'
import type { Question } from '../../pipeline/asked.ts'

/** `files/4f1c...`, alone or at the end of an address: names of this server are 24 hexadecimal digits. */
const fileName = /(?:^|\/)files\/((?:hg_file_)?[0-9a-f]{24})$/

/** A prompt names a file at most as often as this. */
const mostFiles = 64

/**
 * The body with the files of this server in place of their names: no provider could fetch them. Addresses
 * elsewhere stay as they are.
 */
export async function inlineFiles(gateway: Gateway, question: Question): Promise<JsonObject> {
  const { body } = question
  const contents = listOf(body.contents)
  const named = contents.flatMap((content, at) => namedIn(content, `contents.${at}`))
  if (named.length === 0) return body
  if (named.length > mostFiles) throw badField('contents', `name more than ${mostFiles} files`)
  const read = await readNamed(gateway, question, named)
  return { ...body, contents: contents.map((content) => withParts(content, read)) }
}

interface NamedFile {
  /** The part as it came. */
  part: JsonObject
  uri: string
  id: string
  path: string
}

function namedIn(content: unknown, path: string): NamedFile[] {
  return listOf(objectOf(content)?.parts).flatMap((entry, at) => {
    const part = objectOf(entry)
    const uri = textOf(field(objectOf(part && field(part, 'fileData')) ?? {}, 'fileUri'))
    const name = fileName.exec(uri ?? '')?.[1]
    if (!part || uri === undefined || name === undefined) return []
    return [{ part, uri, id: idOfName(name), path: `${path}.parts.${at}.fileData.fileUri` }]
  })
}

/** What stands for each part; those whose file is not here are left out. */
async function readNamed(
  gateway: Gateway,
  { caller, request }: Question,
  named: readonly NamedFile[],
): Promise<Map<unknown, JsonObject>> {
  const maxBytes = maxInlineBytes(gateway)
  let room = maxBytes
  const parts = new Map<unknown, JsonObject>()
  for (const { part, uri, id, path } of named) {
    const file = await findFile(gateway.db, caller.key.workspace_id, id)
    if (!file && isElsewhere(uri, request)) continue
    if (!file) throw badField(path, 'the file does not exist')
    const content = Bun.file(contentPath(gateway.config, file.id))
    // Deleted since it was looked up.
    if (!(await content.exists())) throw badField(path, 'the file does not exist')
    // What is read counts, whatever the row says.
    room -= (await content.stat()).size
    if (room < 0) {
      throw fail('body_too_large', `${path}: the files of a request may have ${maxBytes} bytes together.`)
    }
    parts.set(part, await partOf(file, content))
  }
  return parts
}

/** As much as the request itself could have carried in base64. */
function maxInlineBytes({ settings }: Gateway): number {
  return Math.floor((settings.limits.body_bytes * 3) / 4)
}

function isElsewhere(uri: string, request: Request): boolean {
  const host = URL.parse(uri)?.host
  return host !== undefined && host !== requestUrl(request).host
}

/** Text is sent as text, which every model reads. */
async function partOf(file: StoredFile, content: Blob): Promise<JsonObject> {
  if (textTypes.test(file.mime_type)) return { text: await content.text() }
  const data = Buffer.from(await content.arrayBuffer()).toString('base64')
  return { inlineData: { mimeType: file.mime_type, data, displayName: file.filename } }
}

const textTypes = /^text\/|^application\/(?:x-nd)?json$/

function withParts(content: unknown, read: ReadonlyMap<unknown, JsonObject>): unknown {
  const object = objectOf(content)
  if (!object) return content
  const parts = listOf(object.parts)
  return parts.some((part) => read.has(part))
    ? { ...object, parts: parts.map((part) => read.get(part) ?? part) }
    : content
}
