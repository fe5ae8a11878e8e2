import { findModel } from '../../catalog/lookup.ts'
import type { FilePart, ImagePart, TextPart } from '../../formats/call/part.ts'
import type { PluginSettings } from '../../formats/schema/plugins.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { TaskQuota } from '../../platform/concurrency/fair-thread.ts'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { guardAddedMessages } from '../guard/added-content.ts'
import { largeTextLength } from '../request/content.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import {
  AnnotationWriter,
  buildAnnotation,
  collectParsedFiles,
  type FileAnnotation,
  type FileText,
} from './files/annotations.ts'
import { type FileContent, listFiles, replaceFiles } from './files/file-parts.ts'
import { fetchFile, hashOf, kindOf, nameOf, readDocument, unreadableError } from './files/read-document.ts'
import { findRecognizer, priceRecognition, readsImages, recognizeFile } from './files/recognize.ts'
import type { AugmentContext, Plugin, PluginContext } from './plugin.ts'

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
    if (request.region !== 'global' && parsed.some(({ source }) => source.kind === 'url'))
      throw gatewayError(
        'region_refused',
        'plugins.file-parser: files are not fetched on regional hosts; send them as data.',
      )
    // A model need not read what it is not sent.
    const placeholders = new Map<FilePart, FileContent>(
      parsed.map((part) => [part, [{ kind: 'text', text: '' }]]),
    )
    if (parsed.length > 0) work.routingCall = replaceFiles(call, placeholders)
  },
  augment: parseFiles,
  assertConfigured: ({ settings }, { pdf }) => {
    const { ocr, ocr_model } = settings.file_parser
    if (pdf?.engine === 'mistral-ocr' && ocr.api_key === null && ocr_model === null) throw noOcrError()
  },
  estimateFee,
}

/** Limits of one request. */
const maxFiles = 20
const maxMilliseconds = 30_000
const maxCharacters = 4_000_000
/** Characters of its images in base64. */
const maxImageLength = 32 * 1024 * 1024

/** Selects the engine. The default is the model if it reads files, otherwise OCR if the operator has configured it. */
function resolveEngine(gateway: Gateway, request: InferenceRequest, { pdf }: Settings): Engine {
  const hasOcr = findRecognizer(gateway, request) !== null
  switch (pdf?.engine) {
    case 'native':
    case 'pdf-text':
      return pdf.engine
    case 'cloudflare-ai':
      return 'pdf-text'
    case 'mistral-ocr':
      if (hasOcr) return 'mistral-ocr'
      throw request.region === 'global' ? noOcrError() : regionError()
  }
  const reads = (slug: string) => findModel(gateway.catalog, slug)?.model.input_modalities.includes('file')
  if (request.options.models.every(reads)) return 'native'
  return hasOcr ? 'mistral-ocr' : 'pdf-text'
}

function regionError() {
  return gatewayError(
    'region_refused',
    'plugins.file-parser.pdf.engine: regional hosts send no documents to the OCR API. Use pdf-text.',
  )
}

function noOcrError() {
  return invalidFieldError(
    'plugins.file-parser.pdf.engine',
    'mistral-ocr is not configured on this gateway. Ask the operator to set `file_parser.ocr.api_key` or `file_parser.ocr_model` in headgate.yaml, or use pdf-text',
  )
}

/** A model that reads files reads PDFs and plain text; a URL may be either. */
function isParsed(part: FilePart, engine: Engine): boolean {
  return engine !== 'native' || kindOf(part) === 'office'
}

function isRecognized(part: FilePart, engine: Engine): boolean {
  return engine === 'mistral-ocr' && ['pdf', 'image'].includes(kindOf(part))
}

function createQuota({ caller }: InferenceRequest): TaskQuota {
  return { owner: caller.organizationId, milliseconds: maxMilliseconds }
}

async function estimateFee({ gateway, request }: PluginContext, settings: Settings): Promise<bigint> {
  const { call } = request.content
  const engine = resolveEngine(gateway, request, settings)
  if (engine !== 'mistral-ocr' || findRecognizer(gateway, request) !== 'api') return 0n
  const known = collectParsedFiles(call)
  const quota = createQuota(request)
  let fee = 0n
  for (const file of listFiles(call)) {
    const mayBeRecognized = isRecognized(file, engine) || file.source.kind === 'url'
    if (mayBeRecognized && !known.has(hashOf(file.source)))
      fee += await priceRecognition(gateway, file, quota)
  }
  return fee
}

interface ParsedFile extends FileText {
  part: FilePart
  engine: Engine | 'annotation'
  costNanos: bigint
}

async function parseFiles(context: AugmentContext, settings: Settings): Promise<void> {
  const { gateway, request, work } = context
  const { call } = request.content
  const engine = resolveEngine(gateway, request, settings)
  const parsed: ParsedFile[] = []
  try {
    await parseEach(context, engine, parsed)
  } catch (error) {
    // The client need not pay for these again.
    work.fileAnnotations.push(...(await guardTexts(gateway, request, parsed)).map(toAnnotation))
    throw error
  }
  if (parsed.length === 0) return
  const files = await guardTexts(gateway, request, parsed)
  const annotations = files.map(toAnnotation)
  work.fileAnnotations.push(...annotations)
  work.stages.push(describeStage(files))
  const contents = new Map<FilePart, FileContent>(files.map(({ part, content }) => [part, content]))
  const isLarge = request.content.received.isLarge || countCharacters(files) > largeTextLength
  request.content = request.content.rewrite(request.format, replaceFiles(call, contents), { isLarge })
  // A client that did not request the plugin may reject annotations that it does not know.
  const isImplied = work.findPlugin('file-parser')?.isImplied === true
  if (request.format.name !== 'chat' || isImplied) return
  request.replyTransforms = [...request.replyTransforms, () => new AnnotationWriter(annotations)]
}

/** Adds to `parsed`. */
async function parseEach(context: AugmentContext, engine: Engine, parsed: ParsedFile[]): Promise<void> {
  const { call } = context.request.content
  const known = collectParsedFiles(call)
  const quota = createQuota(context.request)
  for (const part of listFiles(call).filter((file) => isParsed(file, engine))) {
    parsed.push(await parseFile(context, part, engine, known, quota))
    checkLengths(part, parsed)
  }
}

function toAnnotation(file: ParsedFile): FileAnnotation {
  return buildAnnotation(hashOf(file.part.source), nameOf(file.part), file)
}

function countCharacters(files: readonly ParsedFile[]): number {
  return files.reduce((sum, { text }) => sum + text.length, 0)
}

function checkLengths(part: FilePart, files: readonly ParsedFile[]): void {
  if (countCharacters(files) > maxCharacters)
    throw unreadableError(part, `All files of a request may have ${maxCharacters} characters of text.`)
  const images = files.flatMap((file) => file.images)
  const length = images.reduce(
    (sum, { source }) => sum + (source.kind === 'data' ? source.data.length : 0),
    0,
  )
  if (length > maxImageLength)
    throw unreadableError(part, `The images of all files may have ${maxImageLength} bytes in base64.`)
}

interface GuardedFile extends ParsedFile {
  /** The parts that replace the file. */
  content: FileContent
}

/** Guards texts here and not only afterwards, because the annotations of the reply have the same texts. */
async function guardTexts(
  gateway: Gateway,
  request: InferenceRequest,
  files: readonly ParsedFile[],
): Promise<GuardedFile[]> {
  const contents = files.map(buildContent)
  const parts = contents.map(([text]) => text)
  const [guarded] = await guardAddedMessages(gateway, request, [{ role: 'user' as const, parts }])
  return files.map((file, index) => {
    const part = guarded?.parts[index]
    const [text, ...images] = contents[index] ?? buildContent(file)
    const checked = part?.kind === 'text' ? part : text
    return { ...file, text: checked.text, content: [checked, ...images] }
  })
}

/** Builds the parts of a file. A cache breakpoint of the file moves to its last part. */
function buildContent({ part, text, images }: ParsedFile): [TextPart, ...ImagePart[]] {
  const cache = part.cache && { cache: part.cache }
  const last = images.length - 1
  return [
    { kind: 'text', text, ...(last === -1 && cache) },
    ...images.map((image, index) => ({ ...image, ...(index === last && cache) })),
  ]
}

async function parseFile(
  context: AugmentContext,
  part: FilePart,
  engine: Engine,
  known: ReadonlyMap<string, FileText>,
  quota: TaskQuota,
): Promise<ParsedFile> {
  const { gateway, request } = context
  const before = known.get(hashOf(part.source))
  if (before) {
    const images = readsImages(gateway, request) ? before.images : []
    return { part, text: before.text, images, engine: 'annotation', costNanos: 0n }
  }
  const file = await openFile(context, part)
  if (isRecognized(file, engine)) {
    const recognized = await recognizeFile(context, file, quota)
    return { part, ...recognized, text: wrapText(part, recognized.text), engine }
  }
  const text = await readDocument(gateway, file, quota)
  return { part, text: wrapText(part, text), images: [], engine: 'pdf-text', costNanos: 0n }
}

/** The filters have read what the request contains; what is fetched only now, they read here: OCR may send it on. */
async function openFile({ gateway, request, signal }: AugmentContext, part: FilePart): Promise<FilePart> {
  const file = await fetchFile(gateway, part, signal)
  if (file === part) return file
  const [guarded] = await guardAddedMessages(gateway, request, [{ role: 'user', parts: [file] }])
  const [first] = guarded?.parts ?? []
  return first?.kind === 'file' ? first : file
}

function wrapText(part: FilePart, text: string): string {
  const name = nameOf(part).replace(/["<>\n]/g, ' ')
  const intro = part.context ? `${part.context}\n` : ''
  return `${intro}<file name="${name}">\n${text}\n</file>`
}

function describeStage(files: readonly ParsedFile[]) {
  const cost = files.reduce((sum, { costNanos }) => sum + costNanos, 0n)
  return {
    type: 'plugin' as const,
    name: 'file-parser',
    summary: `Replaced ${files.length} ${files.length === 1 ? 'file' : 'files'} by text.`,
    cost_usd: usdFromNanos(cost),
    data: {
      files: files.map(({ part, text, images, engine }) => ({
        name: nameOf(part),
        engine,
        characters: text.length,
        ...(images.length > 0 && { images: images.length }),
      })),
    },
  }
}
