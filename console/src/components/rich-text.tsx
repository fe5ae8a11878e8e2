import { Text } from '@mantine/core'
import { lazy, Suspense } from 'react'

/** Longer texts are shown as they are. */
const maxLength = 100_000

const MarkdownText = lazy(() =>
  import('./markdown-text.tsx').then((module) => ({ default: module.MarkdownText })),
)

/** Shows a text of a model or a person as Markdown. What it links to is named, and nothing of it is loaded. */
export function RichText({ text }: { text: string }) {
  if (text.length > maxLength) return <PlainText text={text} />
  return (
    <Suspense fallback={<PlainText text={text} />}>
      <MarkdownText text={text} />
    </Suspense>
  )
}

export function PlainText({ text }: { text: string }) {
  return (
    <Text size="sm" component="div" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
      {text}
    </Text>
  )
}
