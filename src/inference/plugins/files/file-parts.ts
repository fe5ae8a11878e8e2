import type { ModelCall } from '../../../formats/call/call.ts'
import type { FilePart, ImagePart, InputPart, OutputPart, TextPart } from '../../../formats/call/part.ts'

type Part = InputPart | OutputPart

/** The parts that replace a file. */
export type FileContent = (TextPart | ImagePart)[]

/** Lists the files of a call, including those of tool results. */
export function listFiles({ messages }: ModelCall): FilePart[] {
  return messages
    .flatMap(({ parts }) =>
      parts.flatMap((part: Part) => (part.kind === 'tool-result' ? part.content : [part])),
    )
    .filter((part) => part.kind === 'file')
}

export function replaceFiles(call: ModelCall, contents: ReadonlyMap<FilePart, FileContent>): ModelCall {
  const replace = <P extends Part>(part: P): (P | TextPart | ImagePart)[] =>
    (part.kind === 'file' && contents.get(part)) || [part]
  const messages = call.messages.map((message) => ({
    ...message,
    parts: message.parts.flatMap((part): Part[] =>
      part.kind === 'tool-result' ? [{ ...part, content: part.content.flatMap(replace) }] : replace(part),
    ),
  }))
  return { ...call, messages }
}
