import type { Message, ModelCall } from '../../formats/call/call.ts'
import type { FilePart, ImagePart, MediaSource, ToolResultPart, VideoPart } from '../../formats/call/part.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type GatewayError, gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { parseRequestUrl } from '../../platform/http/request-url.ts'
import { findStringPath } from '../../platform/json/json-path.ts'
import { findFile, hasFileIdPrefix, isFileId, toFileId } from '../../storage/stored-files.ts'
import { largeTextLength, type RequestContent } from './content.ts'
import { type FileContent, readFileContent } from './file-content.ts'
import type { IncomingRequest } from './inference-request.ts'
import { toInlinePart } from './inline-part.ts'

type Part = Message['parts'][number] | ToolResultPart['content'][number]

/** A part that names one of this server's files. */
interface FileReference {
  part: ImagePart | FilePart | VideoPart
  /** The reference in the client's spelling. */
  text: string
  fileId: string
  isInToolResult: boolean
}

/** The maximum number of references in a request. */
const maxReferences = 64

/**
 * Replaces references to this server's files by their content, because no provider could fetch them. Files of
 * vendors, and other URLs, stay unchanged.
 */
export function inlineFiles(
  gateway: Gateway,
  incoming: IncomingRequest,
  content: RequestContent,
): RequestContent | Promise<RequestContent> {
  const references = listReferences(content.call)
  return references.length === 0 ? content : replaceReferences(gateway, incoming, content, references)
}

function listReferences({ messages }: ModelCall): FileReference[] {
  const found: FileReference[] = []
  for (const { parts } of messages) for (const part of parts) collectReferences(part, false, found)
  return found
}

function collectReferences(part: Part, isInToolResult: boolean, found: FileReference[]): void {
  if (part.kind === 'tool-result') {
    for (const inner of part.content) collectReferences(inner, true, found)
  } else if (part.kind === 'image' || part.kind === 'file' || part.kind === 'video') {
    const text = textOf(part.source)
    const fileId = text === undefined ? undefined : parseReference(text)
    if (text !== undefined && fileId !== undefined) found.push({ part, text, fileId, isInToolResult })
  }
}

function textOf(source: MediaSource): string | undefined {
  if (source.kind === 'file') return source.id
  return source.kind === 'url' ? source.url : undefined
}

/** `files/4f1c...`, alone or at the end of a URL, as clients of the Gemini format send it. */
const fileNamePattern = /(?:^|\/)files\/((?:hg_file_)?[0-9a-f]{24})$/
/** A longer text is a data URL. */
const maxReferenceLength = 2048

function parseReference(text: string): string | undefined {
  if (text.length > maxReferenceLength) return undefined
  if (hasFileIdPrefix(text)) return text
  const name = fileNamePattern.exec(text)?.[1]
  return name && toFileId(name)
}

async function replaceReferences(
  gateway: Gateway,
  incoming: IncomingRequest,
  content: RequestContent,
  references: readonly FileReference[],
): Promise<RequestContent> {
  const { call, body } = content
  const pathOf = ({ text }: FileReference) => findStringPath(body, text) ?? 'body'
  if (references.length > maxReferences)
    throw gatewayError('invalid_request', `The request refers to more than ${maxReferences} files.`)
  const replacements = new Map<Part, Part>()
  let remainingBytes = maxInlineBytesOf(gateway)
  for (const reference of references) {
    const file = await readReferenced(gateway, incoming, reference, remainingBytes)
    if (file === 'elsewhere') continue
    if (file === 'missing') throw invalidFieldError(pathOf(reference), 'the file does not exist')
    if (file === 'too-large') throw tooLargeError(gateway, pathOf(reference))
    remainingBytes -= file.size
    const part = toInlinePart(reference, file)
    if (typeof part === 'string') throw invalidFieldError(pathOf(reference), part)
    replacements.set(reference.part, part)
  }
  if (replacements.size === 0) return content
  const messages = call.messages.map((message) => replaceParts(message, replacements))
  const addedBytes = maxInlineBytesOf(gateway) - remainingBytes
  const isLarge = content.received.isLarge || addedBytes > largeTextLength
  return content.rewrite(incoming.format, { ...call, messages }, { isLarge })
}

/** `elsewhere`: the URL only looks like one of this server's. */
async function readReferenced(
  gateway: Gateway,
  { caller, region, httpRequest }: IncomingRequest,
  { fileId, text }: FileReference,
  maxBytes: number,
): Promise<FileContent | 'elsewhere' | 'missing' | 'too-large'> {
  const file = isFileId(fileId) ? await findFile(gateway.db, caller.key.workspace_id, fileId) : undefined
  if (!file) return isOtherHost(text, httpRequest) ? 'elsewhere' : 'missing'
  if (region !== 'global') throw gatewayError('region_refused', 'Files are not available in this region.')
  return (await readFileContent(gateway, file, maxBytes)) ?? 'missing'
}

function isOtherHost(uri: string, request: Request): boolean {
  const host = URL.parse(uri)?.host
  return host !== undefined && host !== parseRequestUrl(request).host
}

/** Computes the bytes that the request itself could carry in base64. */
function maxInlineBytesOf({ settings }: Gateway): number {
  return Math.floor((settings.limits.body_bytes * 3) / 4)
}

function tooLargeError(gateway: Gateway, path: string): GatewayError {
  const maxBytes = maxInlineBytesOf(gateway)
  return gatewayError(
    'body_too_large',
    `${path}: the files of a request can have at most ${maxBytes} bytes in total.`,
  )
}

function replaceParts(message: Message, replacements: ReadonlyMap<Part, Part>): Message {
  const replace = <P extends Part>(part: P): P => (replacements.get(part) as P | undefined) ?? part
  return {
    ...message,
    parts: message.parts.map((part) =>
      part.kind === 'tool-result' ? { ...part, content: part.content.map(replace) } : replace(part),
    ),
  }
}
