import type { ModelCall } from '../../call/call.ts'
import type { ReplyEvent } from '../../call/event.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../lib/json-values.ts'
import type { ReplyTransform } from '../../pipeline/reply/transforms.ts'

/** A file that was parsed, in the form of an annotation of a message. */
export interface FileAnnotation {
  type: 'file'
  file: { hash: string; name: string; content: { type: 'text'; text: string }[] }
}

/** The texts of files that the client sends back with the reply they came with, by hash. */
export function collectParsedTexts({ messages }: ModelCall): Map<string, string> {
  const texts = new Map<string, string>()
  for (const { role, parts } of messages) {
    if (role !== 'assistant') continue
    for (const part of parts) {
      if (part.kind !== 'text') continue
      for (const { native } of part.citations ?? []) addParsedText(texts, native?.value)
    }
  }
  return texts
}

function addParsedText(texts: Map<string, string>, annotation: JsonObject | undefined): void {
  const file = annotation?.type === 'file' ? asObject(annotation.file) : undefined
  const hash = asString(file?.hash)
  if (hash === undefined) return
  const content = asObjects(file?.content).map(({ text }) => asString(text) ?? '')
  if (content.length > 0) texts.set(hash, content.join('\n'))
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
        delta: { citation: { native: { dialect: 'chat', value: { ...value } } } },
      }),
    )
    return [event, ...deltas]
  }

  end(): ReplyEvent[] {
    return []
  }
}
