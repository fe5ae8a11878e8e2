import type { ModelCall } from '../../../formats/call/call.ts'
import type { ReplyEvent } from '../../../formats/call/event.ts'
import type { ImagePart } from '../../../formats/call/part.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../../platform/json/json-values.ts'
import type { ReplyTransform } from '../../reply/transforms.ts'
import { formatImage, readImage } from './images.ts'
import { maxOcrImages } from './ocr-api.ts'

/** A file that was parsed, in the form of an annotation of a message. */
export interface FileAnnotation {
  type: 'file'
  file: { hash: string; name: string; content: AnnotationContent[] }
}

type AnnotationContent = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

/** The content read from a file. */
export interface FileText {
  text: string
  images: ImagePart[]
}

export function buildAnnotation(hash: string, name: string, { text, images }: FileText): FileAnnotation {
  const urls = images.map(formatImage).filter((url) => url !== null)
  const content: AnnotationContent[] = [
    { type: 'text', text },
    ...urls.map((url) => ({ type: 'image_url' as const, image_url: { url } })),
  ]
  return { type: 'file', file: { hash, name, content } }
}

/** Collects, by hash, the contents of files that the client sends back with the reply they came with. */
export function collectParsedFiles({ messages }: ModelCall): Map<string, FileText> {
  const files = new Map<string, FileText>()
  for (const { role, parts } of messages) {
    if (role !== 'assistant') continue
    for (const part of parts) {
      if (part.kind !== 'text') continue
      for (const { native } of part.citations ?? []) addParsedFile(files, native?.value)
    }
  }
  return files
}

function addParsedFile(files: Map<string, FileText>, annotation: JsonObject | undefined): void {
  const file = annotation?.type === 'file' ? asObject(annotation.file) : undefined
  const hash = asString(file?.hash)
  if (hash === undefined) return
  const content = asObjects(file?.content)
  if (content.length === 0) return
  const texts = content.filter(({ type }) => type !== 'image_url').map(({ text }) => asString(text) ?? '')
  const images = content
    .flatMap(({ image_url }) => asString(asObject(image_url)?.url) ?? [])
    .map(readImage)
    .filter((image) => image !== null)
  files.set(hash, { text: texts.join('\n'), images: images.slice(0, maxOcrImages) })
}

/** Adds the parsed files to the first text of a reply, as annotations of the Chat format. */
export class AnnotationWriter implements ReplyTransform {
  readonly #annotations: readonly FileAnnotation[]
  #part: { choice: number; part: number } | null = null

  constructor(annotations: readonly FileAnnotation[]) {
    this.#annotations = annotations
  }

  transform(event: ReplyEvent): ReplyEvent[] {
    if (event.type !== 'part-start' || event.content.kind !== 'text' || this.#part) return [event]
    const { choice, part } = event
    this.#part = { choice, part }
    const deltas = this.#annotations.map(
      (value): ReplyEvent => ({
        type: 'part-delta',
        choice,
        part,
        delta: { citation: { native: { wireFormat: 'chat', value: { ...value } } } },
      }),
    )
    return [event, ...deltas]
  }

  end(): ReplyEvent[] {
    return []
  }
}
