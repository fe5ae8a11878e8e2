import { useMemo } from 'react'
import { highlight } from './highlight.ts'

/** Code with a color for each kind of word. */
export function HighlightedCode({ code, language }: { code: string; language: string }) {
  const pieces = useMemo(() => highlight(code, language), [code, language])
  return [...pieces.entries()].map(([key, { text, kind }]) =>
    kind === null ? (
      text
    ) : (
      <span key={key} className={`headgate-code-${kind}`}>
        {text}
      </span>
    ),
  )
}
