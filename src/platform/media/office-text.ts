import { strFromU8, type UnzipFileInfo, unzipSync } from 'fflate'

export interface OfficeText {
  text: string
  /** False: it has more than is read of one document. */
  isComplete: boolean
}

export interface OfficeLimits {
  characters: number
  /** Bytes of all unpacked parts together: a small document can unpack to gigabytes. */
  unpackedBytes: number
}

/** The parts with the text of docx, pptx, xlsx and OpenDocument files. */
const textParts =
  /^(?:word\/document\.xml|ppt\/slides\/slide\d+\.xml|xl\/sharedStrings\.xml|xl\/worksheets\/sheet\d+\.xml|content\.xml)$/

/** Null if it is no such document, or unpacks to too much. */
export function readOfficeText(bytes: Uint8Array, limits: OfficeLimits): OfficeText | null {
  let unpacked = 0
  const filter = ({ name, originalSize }: UnzipFileInfo) => {
    if (!textParts.test(name)) return false
    unpacked += originalSize
    return unpacked <= limits.unpackedBytes
  }
  const parts = unzipSync(bytes, { filter })
  const names = Object.keys(parts).sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  if (names.length === 0 || unpacked > limits.unpackedBytes) return null
  const read = (name: string) => {
    const part = parts[name]
    return part ? strFromU8(part) : ''
  }
  const strings = listSharedStrings(read('xl/sharedStrings.xml'))
  const texts = names
    .filter((name) => name !== 'xl/sharedStrings.xml')
    .map((name) => (name.startsWith('xl/') ? readSheet(read(name), strings) : readParagraphs(read(name))))
  const text = texts.join('\n\n').trim()
  return { text: text.slice(0, limits.characters), isComplete: text.length <= limits.characters }
}

/** Ends of paragraphs, headings, rows and lines; tabs and cells; runs of spaces. */
const breaks = /<\/(?:w:p|a:p|text:p|text:h|table:table-row)>|<(?:w:br|a:br|text:line-break)\b[^>]*\/>/g
const tabs = /<(?:w:tab|text:tab)\b[^>]*\/>|<\/(?:w:tc|table:table-cell)>/g
const spaces = /<text:s\b[^>]*\/>/g

function readParagraphs(xml: string): string {
  return decodeEntities(
    xml
      .replace(breaks, '\n')
      .replace(tabs, '\t')
      .replace(spaces, ' ')
      .replace(/<[^>]*>/g, ''),
  )
}

function listSharedStrings(xml: string): string[] {
  return [...xml.matchAll(/<si\b[^>]*>(.*?)<\/si>/gs)].map((match) => joinTexts(match[1] ?? ''))
}

/** Joins the runs of a text, without phonetic guides. */
function joinTexts(xml: string): string {
  const plain = xml.replace(/<rPh\b.*?<\/rPh>/gs, '')
  return [...plain.matchAll(/<t\b[^>]*>(.*?)<\/t>/gs)].map((match) => decodeEntities(match[1] ?? '')).join('')
}

/** A line for each row, with tabs between the cells. */
function readSheet(xml: string, strings: readonly string[]): string {
  return [...xml.matchAll(/<row\b[^>]*>(.*?)<\/row>/gs)]
    .map((row) =>
      [...(row[1] ?? '').matchAll(/<c\b([^>]*?)(?:\/>|>(.*?)<\/c>)/gs)]
        .map((cell) => readCell(cell[1] ?? '', cell[2] ?? '', strings))
        .join('\t'),
    )
    .join('\n')
}

function readCell(attributes: string, content: string, strings: readonly string[]): string {
  const value = /<v\b[^>]*>(.*?)<\/v>/s.exec(content)?.[1] ?? ''
  if (/\bt="s"/.test(attributes)) return strings[Number(value)] ?? ''
  return value === '' ? joinTexts(content) : decodeEntities(value)
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (match, hex, decimal, name) => {
    if (name !== undefined) return entities[name] ?? match
    const code = Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ''
  })
}
