import { posix } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'
import { escapeHtml } from '../../platform/http/html.ts'
import { addressOf, slugOf } from './address.ts'

/** A heading with the text below it, up to the next heading. */
export interface Section {
  heading: string
  anchor: string
  level: number
  text: string
}

/** A link to another page, below a heading of the second level. */
interface PageLink {
  group: string
  slug: string
}

/** A page of the documentation. Its links are relative to the address of the server. */
export interface Document {
  /** The path below `/docs`, empty for the first page. */
  slug: string
  title: string
  html: string
  sections: Section[]
  pageLinks: PageLink[]
}

// The texts come with the server. Their only HTML is comments, which are not shown.
const parser = new MarkdownIt({ html: true })
parser.renderer.rules.html_block = () => ''
parser.renderer.rules.html_inline = (tokens, index) => escapeHtml(tokens[index]?.content ?? '')
// A wide table or a long line scrolls in its own frame, also by keyboard.
parser.renderer.rules.table_open = () => '<div class="scroll" tabindex="0"><table>'
parser.renderer.rules.table_close = () => '</table></div>'
// A header without text is no header for a screen reader.
parser.renderer.rules.th_open = (tokens, index, options, _, renderer) =>
  tokens[index + 1]?.content === '' ? '<td>' : renderer.renderToken(tokens, index, options)
parser.renderer.rules.th_close = (tokens, index) => (tokens[index - 1]?.content === '' ? '</td>' : '</th>')
parser.renderer.rules.fence = (tokens, index) => renderCode(tokens[index]?.content ?? '')
parser.renderer.rules.code_block = parser.renderer.rules.fence
parser.renderer.rules.heading_close = (tokens, index) => {
  const { tag = 'h2', markup = '' } = tokens[index] ?? {}
  const href = String(tokens[index - 2]?.meta?.address)
  const anchor =
    markup === '#'
      ? ''
      : ` <a class="anchor" href="${escapeHtml(href)}" aria-label="Link to this section">#</a>`
  return `${anchor}</${tag}>`
}

function renderCode(text: string): string {
  return `<div class="code"><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>`
}

/** Parses a file, whose path is relative to the folder of the documentation. */
export function parseDocument(path: string, text: string): Document {
  const slug = slugOf(path)
  const tokens = parser.parse(text, {})
  const sections = splitSections(tokens, slug)
  const pageLinks: PageLink[] = []
  let group = ''
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open' && token.tag === 'h2') group = textOf(tokens[index + 1])
    if (!token.children) continue
    for (const target of resolveLinks(token, path)) {
      if (target.endsWith('.md')) pageLinks.push({ group, slug: slugOf(target) })
    }
  }
  const title = sections.find(({ level }) => level === 1)?.heading ?? slug
  return { slug, title, html: parser.renderer.render(tokens, parser.options, {}), sections, pageLinks }
}

/** Gives each heading its anchor, and collects the text below. */
function splitSections(tokens: Token[], slug: string): Section[] {
  const sections: Section[] = []
  const anchors = new Map<string, number>()
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const heading = textOf(tokens[index + 1])
      const anchor = createAnchor(heading, anchors)
      token.attrSet('id', anchor)
      token.meta = { address: addressOf(slug, anchor) }
      sections.push({ heading, anchor, level: Number(token.tag.slice(1)), text: '' })
    } else if (tokens[index - 1]?.type !== 'heading_open') {
      const section = sections.at(-1)
      if (section) section.text += ` ${textOf(token)}`
    }
  }
  return sections.map((section) => ({ ...section, text: section.text.replace(/\s+/g, ' ').trim() }))
}

/** As GitHub makes it: lower case, without punctuation, hyphens for spaces, a number if it is taken. */
function createAnchor(heading: string, taken: Map<string, number>): string {
  const name = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
  const count = taken.get(name) ?? 0
  taken.set(name, count + 1)
  return count === 0 ? name : `${name}-${count}`
}

function textOf(token: Token | undefined): string {
  if (token?.type === 'fence' || token?.type === 'code_block') return token.content
  const texts = token?.children?.map(({ type, content }) =>
    type === 'softbreak' ? ' ' : type === 'html_inline' ? '' : content,
  )
  return texts?.join('') ?? ''
}

/** Rewrites the links and images of a paragraph, and returns the files that they lead to. */
function resolveLinks(paragraph: Token, path: string): string[] {
  const files: string[] = []
  const shown: Token[] = []
  let isDropped = false
  for (const token of paragraph.children ?? []) {
    const name = token.type === 'image' ? 'src' : 'href'
    const target =
      token.type === 'link_open' || token.type === 'image' ? resolve(token.attrGet(name), path) : null
    if (token.type === 'link_open') isDropped = target === null
    if (target) token.attrSet(name, target.address)
    if (target?.file) files.push(target.file)
    if (!isDropped || !token.type.startsWith('link_')) shown.push(token)
    if (token.type === 'link_close') isDropped = false
  }
  paragraph.children = shown
  return files
}

/** Null for a file that is not part of the documentation: its link is shown as text. */
function resolve(link: string | number | null, path: string): { address: string; file?: string } | null {
  if (typeof link !== 'string') return null
  if (/^[a-z]+:/i.test(link)) return { address: link }
  const [target = '', anchor] = link.split('#')
  const file = target === '' ? path : posix.join(posix.dirname(path), target)
  if (file.startsWith('../')) return null
  return { address: file.endsWith('.md') ? addressOf(slugOf(file), anchor) : `docs/${file}`, file }
}
