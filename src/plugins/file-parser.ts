import type { Gateway } from '../app/gateway.ts'
import type { ModelCall } from '../call/call.ts'
import type { FilePart, InputPart, OutputPart, TextPart } from '../call/part.ts'
import { findModel } from '../catalogue/lookup.ts'
import type { PluginSettings } from '../dialects/schema/plugins.ts'
import { gatewayError, invalidFieldError } from '../errors/gateway-error.ts'
import { usdFromNanos } from '../ledger/money.ts'
import { guardAddedMessages } from '../pipeline/guard/added-content.ts'
import { largeTextLength } from '../pipeline/request/content.ts'
import type { InferenceRequest } from '../pipeline/request/inference-request.ts'
import { AnnotationWriter, collectParsedTexts, type FileAnnotation } from './files/annotations.ts'
import { fetchFile, hashOf, kindOf, nameOf, readDocument, unreadableError } from './files/read-document.ts'
import type { AugmentContext, Plugin } from './plugin.ts'

type Engine = 'native' | 'pdf-text' | 'mistral-ocr'
type Settings = PluginSettings<'file-parser'>

/** Replaces documents by their text, for models that cannot read them. */
export const fileParser: Plugin<'file-parser'> = {
  id: 'file-parser',
  prepare({ gateway, request, work }, settings) {
    const { call } = request.content
    const files = listFiles(call)
    if (files.length > maxFiles)
      throw invalidFieldError('messages', `the plugin file-parser reads at most ${maxFiles} files`)
    const engine = resolveEngine(gateway, request, settings)
    const parsed = files.filter((part) => isParsed(part, engine))
    // A model need not read what it is not sent.
    const placeholders = new Map<FilePart, TextPart>(parsed.map((part) => [part, { kind: 'text', text: '' }]))
    if (parsed.length > 0) work.routingCall = replaceFiles(call, placeholders)
    return request
  },
  augment: parseFiles,
}

/** Of one request. */
const maxFiles = 20
const maxMilliseconds = 30_000
const maxCharacters = 4_000_000

/** Without an engine: the model if it reads files, otherwise OCR if the operator has a model for it. */
function resolveEngine(
  { catalogue, settings }: Gateway,
  { options }: InferenceRequest,
  { pdf }: Settings,
): Engine {
  const ocrModel = settings.file_parser.ocr_model
  switch (pdf?.engine) {
    case 'native':
    case 'pdf-text':
      return pdf.engine
    case 'cloudflare-ai':
      return 'pdf-text'
    case 'mistral-ocr':
      if (ocrModel !== null) return 'mistral-ocr'
      throw invalidFieldError(
        'plugins',
        'the engine mistral-ocr needs a model, and this gateway has none. Ask the operator to set `file_parser.ocr_model` in headgate.yaml, or use pdf-text',
      )
  }
  const reads = (slug: string) => findModel(catalogue, slug)?.model.input_modalities.includes('file')
  if (options.models.every(reads)) return 'native'
  return ocrModel === null ? 'pdf-text' : 'mistral-ocr'
}

/** A model that reads files reads PDFs and plain text; a URL may be either. */
function isParsed(part: FilePart, engine: Engine): boolean {
  return engine !== 'native' || kindOf(part) === 'office'
}

interface ParsedFile {
  part: FilePart
  /** What takes its place. */
  text: TextPart
  engine: Engine | 'annotation'
  costNanos: bigint
}

async function parseFiles(context: AugmentContext, settings: Settings): Promise<InferenceRequest> {
  const { gateway, request, work } = context
  const { call } = request.content
  const engine = resolveEngine(gateway, request, settings)
  const known = collectParsedTexts(call)
  const quota = { owner: request.caller.organizationId, milliseconds: maxMilliseconds }
  const parsed: ParsedFile[] = []
  let characters = 0
  for (const part of listFiles(call).filter((file) => isParsed(file, engine))) {
    const file = await parseFile(context, part, engine, known, quota)
    characters += file.text.text.length
    if (characters > maxCharacters)
      throw unreadableError(part, `All files of a request may have ${maxCharacters} characters of text.`)
    parsed.push(file)
  }
  if (parsed.length === 0) return request
  const files = await guardTexts(gateway, request, parsed)
  const annotations = files.map(toAnnotation)
  work.fileAnnotations.push(...annotations)
  work.stages.push(describeStage(files))
  const texts = new Map(files.map(({ part, text }) => [part, text]))
  const isLarge = request.content.received.isLarge || characters > largeTextLength
  const content = request.content.rewrite(request.format, replaceFiles(call, texts), { isLarge })
  if (request.format.name !== 'chat') return { ...request, content }
  const annotate = () => new AnnotationWriter(annotations)
  return { ...request, content, replyTransforms: [...request.replyTransforms, annotate] }
}

/** Here and not only afterwards, because the annotations of the reply have the same texts. */
async function guardTexts(
  gateway: Gateway,
  request: InferenceRequest,
  files: readonly ParsedFile[],
): Promise<ParsedFile[]> {
  const added = { role: 'user' as const, parts: files.map(({ text }) => text) }
  const [guarded] = await guardAddedMessages(gateway, request, [added])
  return files.map((file, index) => {
    const text = guarded?.parts[index]
    return text?.kind === 'text' ? { ...file, text } : file
  })
}

function toAnnotation({ part, text }: ParsedFile): FileAnnotation {
  const content = [{ type: 'text' as const, text: text.text }]
  return { type: 'file', file: { hash: hashOf(part.source), name: nameOf(part), content } }
}

async function parseFile(
  context: AugmentContext,
  part: FilePart,
  engine: Engine,
  known: ReadonlyMap<string, string>,
  quota: { owner: string; milliseconds: number },
): Promise<ParsedFile> {
  const { cache } = part
  const toText = (text: string): TextPart => ({ kind: 'text', text, ...(cache && { cache }) })
  const before = known.get(hashOf(part.source))
  if (before !== undefined) return { part, text: toText(before), engine: 'annotation', costNanos: 0n }
  const file = await fetchFile(context.gateway, part, context.signal)
  if (engine === 'mistral-ocr' && kindOf(file) === 'pdf') {
    const { text, costNanos } = await recognizeText(context, file)
    return { part, text: toText(wrapText(part, text)), engine, costNanos }
  }
  const text = await readDocument(context.gateway, file, quota)
  return { part, text: toText(wrapText(part, text)), engine: 'pdf-text', costNanos: 0n }
}

function wrapText(part: FilePart, text: string): string {
  const name = nameOf(part).replace(/["<>\n]/g, ' ')
  const intro = part.context ? `${part.context}\n` : ''
  return `${intro}<file name="${name}">\n${text}\n</file>`
}

const ocrInstruction =
  'Transcribe the document completely, page by page, as Markdown. Keep its language. Reply with the transcript only.'

/** A request of the same key to the model for OCR, with a record and a charge of its own. */
async function recognizeText({ gateway, callModel, signal }: AugmentContext, file: FilePart) {
  const model = gateway.settings.file_parser.ocr_model
  if (model === null) throw gatewayError('unavailable')
  const parts = [{ kind: 'text' as const, text: ocrInstruction }, file]
  const call: ModelCall = { messages: [{ role: 'user', parts }], stream: false, unknown: [] }
  const reply = await callModel({ model, call, purpose: 'file-parser', signal })
  const text = reply.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
  if (text.trim() === '') throw unreadableError(file, 'The model for OCR found no text in it.')
  return { text, costNanos: reply.costNanos }
}

function describeStage(files: readonly ParsedFile[]) {
  const cost = files.reduce((sum, { costNanos }) => sum + costNanos, 0n)
  return {
    type: 'plugin' as const,
    name: 'file-parser',
    summary: `Replaced ${files.length} ${files.length === 1 ? 'file' : 'files'} by text.`,
    cost_usd: usdFromNanos(cost),
    data: {
      files: files.map(({ part, text, engine }) => ({
        name: nameOf(part),
        engine,
        characters: text.text.length,
      })),
    },
  }
}

type Part = InputPart | OutputPart

function listFiles({ messages }: ModelCall): FilePart[] {
  return messages
    .flatMap(({ parts }) =>
      parts.flatMap((part: Part) => (part.kind === 'tool-result' ? part.content : [part])),
    )
    .filter((part) => part.kind === 'file')
}

function replaceFiles(call: ModelCall, texts: ReadonlyMap<FilePart, TextPart>): ModelCall {
  const replace = <P extends Part>(part: P): P | TextPart => (part.kind === 'file' && texts.get(part)) || part
  const messages = call.messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.kind === 'tool-result' ? { ...part, content: part.content.map(replace) } : replace(part),
    ),
  }))
  return { ...call, messages }
}
