import MarkdownIt, { type Token } from 'markdown-it'

/** A node of a Markdown text. Its text is plain: markup that the text contains is text. */
export interface MarkdownNode {
  /** The HTML element, or one of `text`, `softbreak`, `code_block` and `checkbox`. */
  tag: string
  text: string
  /** The target of a link or an image. */
  url: string | null
  /** The language of a code block. */
  language: string | null
  /** The alignment of a cell of a table. */
  align: 'left' | 'center' | 'right' | null
  /** The number of an ordered list's first item. */
  start: number | null
  /** Whether the address of a link is its text. */
  isBare: boolean
  isChecked: boolean
  children: MarkdownNode[]
}

/** Links that a browser opens without running anything. A target without a scheme is left to who shows it. */
const allowedTargets = /^(?:https?:\/\/|mailto:)/i
const hasScheme = /^(?:[a-z][a-z0-9+.-]*:|[/\\]{2})/i
/** An image that came with the text. */
const imageData = /^data:image\/(?:png|jpeg|gif|webp);base64,/i

/** Deeper lists and quotes are shown as the paragraphs that they begin with. */
const maxNesting = 30

// CommonMark with tables, strikethrough and bare addresses. HTML is text.
const parser = new MarkdownIt({ html: false, linkify: true, maxNesting })
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
parser.validateLink = (url) =>
  allowedTargets.test(url) || imageData.test(url) || !hasScheme.test(url.trimStart())

/** Null if the text has more nodes than this. Time grows with the length of the text only. */
export function parseMarkdown(text: string, maxNodes: number): MarkdownNode[] | null {
  const tokens = parser.parse(text, {})
  const count = tokens.reduce((sum, { children }) => sum + 1 + (children?.length ?? 0), 0)
  return count > maxNodes ? null : nest(tokens)
}

/** Whether an address may be opened: one of the web, or a mail address. */
export function isSafeLink(url: string): boolean {
  return allowedTargets.test(url)
}

export function isImageData(url: string): boolean {
  return imageData.test(url)
}

/** The text of nodes, without markup. */
export function textOf(nodes: readonly MarkdownNode[]): string {
  return nodes.map(({ text, children }) => text + textOf(children)).join('')
}

/** The parser has a flat list in which elements open and close. */
function nest(tokens: readonly Token[]): MarkdownNode[] {
  const root = createNode('root')
  const open = [root]
  for (const token of tokens) {
    const parent = open.at(-1) ?? root
    if (token.nesting < 0) {
      open.pop()
      continue
    }
    const added = token.type === 'inline' ? nest(token.children ?? []) : [toNode(token)]
    const isShown = !token.hidden && (token.type !== 'text' || token.content !== '')
    if (isShown) parent.children.push(...added)
    // A paragraph of a tight list is not an element: what it contains is added to the item.
    if (token.nesting > 0) open.push(token.hidden ? parent : (added[0] ?? parent))
  }
  for (const node of root.children) findTasks(node)
  return root.children
}

function createNode(tag: string, fields: Partial<MarkdownNode> = {}): MarkdownNode {
  return {
    tag,
    text: '',
    url: null,
    language: null,
    align: null,
    start: null,
    isBare: false,
    isChecked: false,
    children: [],
    ...fields,
  }
}

function toNode(token: Token): MarkdownNode {
  const { type, tag, content, info, markup } = token
  if (type === 'fence' || type === 'code_block') {
    const text = content.replace(/\n$/, '')
    return createNode('code_block', { text, language: info.trim().split(/\s+/)[0]?.toLowerCase() || null })
  }
  if (type === 'image') return createNode('img', { text: content, url: String(token.attrGet('src') ?? '') })
  if (type === 'softbreak') return createNode('softbreak')
  if (tag === '' || type === 'text') return createNode('text', { text: content })
  const align = /text-align:(left|center|right)/.exec(String(token.attrGet('style') ?? ''))?.[1]
  const start = token.attrGet('start')
  return createNode(tag, {
    text: content,
    url: tag === 'a' ? String(token.attrGet('href') ?? '') : null,
    align: align === 'left' || align === 'center' || align === 'right' ? align : null,
    start: start === null ? null : Number(start),
    isBare: markup === 'linkify' || markup === 'autolink',
  })
}

/** An item that begins with `[ ]` or `[x]` is a task. */
function findTasks(node: MarkdownNode): void {
  for (const child of node.children) findTasks(child)
  if (node.tag !== 'li') return
  const [first] = node.children
  const holder = first?.tag === 'p' ? first : node
  const [text] = holder.children
  const mark = text?.tag === 'text' ? /^\[([ xX])\](?=\s)/.exec(text.text) : null
  if (!text || !mark) return
  text.text = text.text.slice(mark[0].length)
  holder.children.unshift(createNode('checkbox', { isChecked: mark[1] !== ' ' }))
}
