import { Anchor } from '@mantine/core'
import { useDeferredValue, useMemo } from 'react'
import { isImageData, isSafeLink, type MarkdownNode, parseMarkdown, textOf } from './markdown-parse.ts'
import { MarkdownView, type NodeViews } from './markdown-view.tsx'
import { PlainText } from './rich-text.tsx'

/** More elements would make the page slow. */
const maxNodes = 4000

/** Shows a text that anybody may have written as Markdown. */
export function MarkdownText({ text }: { text: string }) {
  // While a reply arrives, the browser parses as often as it has time to.
  const shown = useDeferredValue(text)
  const nodes = useMemo(() => parseMarkdown(shown, maxNodes), [shown])
  if (nodes === null) return <PlainText text={text} />
  return <MarkdownView nodes={nodes} views={views} keepsLines />
}

const views: NodeViews = {
  // Not a heading of the page.
  heading: ({ level, children }) => <div className={`headgate-heading-${level}`}>{children}</div>,
  link: LinkView,
  // Nothing that a text names is fetched: an image is shown only if it came with the text.
  image: ({ node: { text, url } }) =>
    url !== null && isImageData(url) ? (
      <img src={url} alt={text} />
    ) : url !== null && isSafeLink(url) ? (
      <WebLink url={url}>{`${text || 'Image'} (${hostOf(url)})`}</WebLink>
    ) : (
      text
    ),
}

function LinkView({ node, children }: { node: MarkdownNode; children: React.ReactNode }) {
  const url = node.url ?? ''
  if (!isSafeLink(url) || hostOf(url) === null) return children
  // A label may name another host than the link has: the address is shown too.
  const isPlain = node.isBare || textOf(node.children) === url
  return (
    <>
      <WebLink url={url}>{children}</WebLink>
      {!isPlain && ` (${hostOf(url)})`}
    </>
  )
}

function WebLink({ url, children }: { url: string; children: React.ReactNode }) {
  return (
    <Anchor href={url} target="_blank" rel="noopener noreferrer nofollow" underline="always">
      {children}
    </Anchor>
  )
}

/** Null if the address is none. */
function hostOf(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { host, pathname } = new URL(url)
  return host || pathname
}
