import type { ComponentType, ReactNode } from 'react'
import { createElement } from 'react'
import { CodeBlock } from './copy.tsx'
import type { MarkdownNode } from './markdown-parse.ts'

/** How a text shows what depends on where it comes from. */
export interface NodeViews {
  heading: ComponentType<{ level: number; node: MarkdownNode; children: ReactNode }>
  link: ComponentType<{ node: MarkdownNode; children: ReactNode }>
  image: ComponentType<{ node: MarkdownNode }>
}

interface MarkdownViewProps {
  nodes: readonly MarkdownNode[]
  views: NodeViews
  /** Whether the end of a line is shown as one, as chats do. */
  keepsLines?: boolean
}

/** Shows Markdown as elements. */
export function MarkdownView(props: MarkdownViewProps) {
  return (
    <div className="headgate-markdown">
      <Nodes {...props} />
    </div>
  )
}

/** Elements that are shown as they are. */
const plain = new Set([
  ...['p', 'strong', 'em', 's', 'code', 'ul', 'ol', 'li', 'blockquote', 'hr', 'br'],
  ...['thead', 'tbody', 'tr'],
])
const empty = new Set(['hr', 'br'])
const headings = /^h([1-6])$/

function Nodes({ nodes, ...rest }: MarkdownViewProps) {
  return [...nodes.entries()].map(([key, node]) => <NodeView key={key} node={node} {...rest} />)
}

function NodeView({ node, ...rest }: Omit<MarkdownViewProps, 'nodes'> & { node: MarkdownNode }): ReactNode {
  const { tag, text, children, align } = node
  const { views, keepsLines } = rest
  if (tag === 'text') return text
  if (tag === 'softbreak') return keepsLines ? <br /> : ' '
  if (tag === 'code_block') return <CodeBlock code={text} language={node.language} />
  if (tag === 'checkbox') return <Checkbox isChecked={node.isChecked} />
  if (tag === 'img') return <views.image node={node} />
  if (empty.has(tag)) return createElement(tag)
  const content = tag === 'code' ? text : <Nodes nodes={children} {...rest} />
  if (tag === 'a') return <views.link node={node}>{content}</views.link>
  if (tag === 'table') return <TableView>{content}</TableView>
  if (tag === 'th' || tag === 'td')
    return createElement(tag, align && { style: { textAlign: align } }, content)
  const level = headings.exec(tag)?.[1]
  if (level) {
    return (
      <views.heading level={Number(level)} node={node}>
        {content}
      </views.heading>
    )
  }
  if (!plain.has(tag)) return content
  return createElement(tag, node.start === null ? null : { start: node.start }, content)
}

/** A wide table is scrolled by itself, also with the keyboard. */
function TableView({ children }: { children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: otherwise the keyboard cannot scroll it
    <div className="headgate-markdown-table" tabIndex={0}>
      <table>{children}</table>
    </div>
  )
}

function Checkbox({ isChecked }: { isChecked: boolean }) {
  return (
    <input type="checkbox" checked={isChecked} readOnly disabled aria-label={isChecked ? 'Done' : 'To do'} />
  )
}
