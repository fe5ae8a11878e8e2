import { Anchor, Code, Stack, Text } from '@mantine/core'
import { CodeBlock } from './copy.tsx'
import { parseBlocks, parseSpans, type Span } from './rich-text-parse.ts'

/** Longer texts are shown as they are. */
const maxLength = 200_000

/** Shows a text of a model or a person. It recognizes code blocks, headings, strong text and links. */
export function RichText({ text }: { text: string }) {
  if (text.length > maxLength) return <PlainText text={text} />
  return (
    <Stack gap="xs">
      {[...parseBlocks(text).entries()].map(([key, block]) => {
        if (block.kind === 'code') return <CodeBlock key={key} code={block.text} />
        return (
          <Text
            key={key}
            size="sm"
            component="div"
            fw={block.kind === 'heading' ? 700 : undefined}
            style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
          >
            <Spans text={block.text} />
          </Text>
        )
      })}
    </Stack>
  )
}

export function PlainText({ text }: { text: string }) {
  return (
    <Text size="sm" component="div" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
      {text}
    </Text>
  )
}

function Spans({ text }: { text: string }) {
  return [...parseSpans(text).entries()].map(([key, span]) => <SpanView key={key} span={span} />)
}

function SpanView({ span }: { span: Span }) {
  if (span.kind === 'code') return <Code>{span.text}</Code>
  if (span.kind === 'strong') return <strong>{span.text}</strong>
  if (span.kind === 'text') return span.text
  return (
    <Anchor href={span.url} target="_blank" rel="noopener noreferrer nofollow" size="sm" underline="always">
      {span.text}
    </Anchor>
  )
}
