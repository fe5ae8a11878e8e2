import { ActionIcon, Code, CopyButton, Group, Tooltip } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { CheckIcon, CopyIcon } from './icons.tsx'

const HighlightedCode = lazy(() =>
  import('./highlighted-code.tsx').then((module) => ({ default: module.HighlightedCode })),
)

/** A button that copies a text. */
export function Copy({ value, label = 'Copy' }: { value: string; label?: string }) {
  return (
    <CopyButton value={value} timeout={1500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : label}>
          <ActionIcon variant="subtle" color="gray" size="sm" onClick={copy} aria-label={label}>
            {copied ? <CheckIcon /> : <CopyIcon />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

/** An id that can be copied. */
export function Id({ value, label = 'Copy the id' }: { value: string; label?: string }) {
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex">
      <Code style={{ overflowWrap: 'anywhere' }}>{value}</Code>
      <Copy value={value} label={label} />
    </Group>
  )
}

interface CodeBlockProps {
  code: string
  label?: string
  /** The language by which it is colored. */
  language?: string | null
}

/** Text of several lines that can be copied, such as a command. */
export function CodeBlock({ code, label = 'Copy the code', language = null }: CodeBlockProps) {
  return (
    <div style={{ position: 'relative' }}>
      <Code block tabIndex={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', paddingRight: 36 }}>
        {language ? (
          <Suspense fallback={code}>
            <HighlightedCode code={code} language={language} />
          </Suspense>
        ) : (
          code
        )}
      </Code>
      <div style={{ position: 'absolute', top: 6, right: 6 }}>
        <Copy value={code} label={label} />
      </div>
    </div>
  )
}
