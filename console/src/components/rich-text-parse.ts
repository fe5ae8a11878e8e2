export interface Block {
  kind: 'code' | 'heading' | 'text'
  text: string
}

export type Span =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong'; text: string }
  | { kind: 'link'; text: string; url: string }

/** More would make the page slow; what follows is one text. */
const maxPieces = 500

const fence = /^ {0,3}(`{3,}|~{3,})/
const heading = /^#{1,6} +(.*)$/

/** Splits an answer into code, headings and text. A code block without an end reaches to the end. */
export function parseBlocks(text: string): Block[] {
  const blocks: Block[] = []
  let lines: string[] = []
  let openFence: string | null = null
  const flush = (kind: 'code' | 'text') => {
    if (kind === 'code') blocks.push({ kind, text: lines.join('\n') })
    else {
      const isFilled = (line: string) => line.trim() !== ''
      const filled = lines.slice(lines.findIndex(isFilled), lines.findLastIndex(isFilled) + 1)
      if (filled.length > 0) blocks.push({ kind, text: filled.join('\n') })
    }
    lines = []
  }
  for (const line of text.split('\n')) {
    const mark = blocks.length < maxPieces - 1 ? (fence.exec(line)?.[1] ?? null) : null
    if (openFence !== null) {
      if (mark?.startsWith(openFence) && line.trim() === mark) {
        flush('code')
        openFence = null
      } else lines.push(line)
    } else if (mark !== null) {
      flush('text')
      openFence = mark
    } else {
      const title = blocks.length < maxPieces - 1 ? heading.exec(line)?.[1] : undefined
      if (title === undefined) lines.push(line)
      else {
        flush('text')
        blocks.push({ kind: 'heading', text: title })
      }
    }
  }
  flush(openFence === null ? 'text' : 'code')
  return blocks
}

/** Each piece has a limited length, so that no text takes long. */
const spans =
  /`([^`\n]{1,2000})`|\*\*([^*\n]{1,2000})\*\*|\[([^[\]\n]{1,300})\]\((https?:\/\/[^\s()<>]{1,2000})\)|(https?:\/\/[^\s()<>"'`*]{1,2000})/g

/** Finds code, strong text and links. Only links to the web are links; all else, markup included, is text. */
export function parseSpans(text: string): Span[] {
  const found: Span[] = []
  let end = 0
  for (const match of text.matchAll(spans)) {
    if (found.length >= maxPieces - 1) break
    if (match.index > end) found.push({ kind: 'text', text: text.slice(end, match.index) })
    found.push(toSpan(match))
    end = match.index + match[0].length
  }
  if (end < text.length) found.push({ kind: 'text', text: text.slice(end) })
  return found
}

function toSpan([whole, code, strong, label, target, bare]: RegExpMatchArray): Span {
  if (code !== undefined) return { kind: 'code', text: code }
  if (strong !== undefined) return { kind: 'strong', text: strong }
  const url = target ?? bare?.replace(/[.,;:!?]+$/, '') ?? ''
  if (!URL.canParse(url)) return { kind: 'text', text: whole }
  // A label may name another host than the link has: the address is shown too.
  return { kind: 'link', text: label ? `${label} (${new URL(url).host})` : whole, url }
}
