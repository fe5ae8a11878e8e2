import type { PromptSample } from './prompt-sample.ts'
import type { FormSignal } from './signals.ts'

/** Patterns over bounded texts, none of which can backtrack far. */
const textPatterns: readonly [FormSignal, RegExp][] = [
  [
    'stackTrace',
    /Traceback \(most recent|^\s{2,}at [\w$.<>]{1,80} ?\(|Exception in thread|panicked at|error(?:\[E\d{4}\]| TS\d{4})|[A-Z]\w{2,40}(?:Error|Exception)\b:|Segmentation fault/m,
  ],
  ['diffText', /^(?:\+\+\+ |--- a\/|@@ -\d|diff --git)/m],
  ['sqlText', /\bselect\b[^;]{1,200}\bfrom\b\s+\w|\bcreate table\b|\binsert into\b|\bupdate \w+ set\b/i],
  ['jsonText', /[{[]\s{0,8}"\w{1,40}"\s{0,4}:|^\w{1,30},\w{1,30},\w{1,30}/m],
  [
    'mathText',
    /\d\s?[+*/^×÷=]\s?[\dx(]|\b[xyn]\s?[=^²³]|\\(?:frac|int|sum|sqrt)|[√∫∑π≤≥]|\b\d{1,9} ?%|\b[23]x\b/,
  ],
  ['numbers', /\d+(?:[.,]\d+)?\D{1,40}\d/],
  ['actions', /(?:^|\s)\*[a-zA-ZäöüéèñÄÖÜ][^*\n]{3,80}\*(?:\s|$|["“„])/],
  ['questionMark', /[?？]\s{0,4}$|[?？]\s/],
]

const toolPatterns: readonly [FormSignal, RegExp][] = [
  [
    'toolEdit',
    /edit|write_?file|apply_?patch|str_?replace|create_?file|read_?file|grep|glob|codebase|notebook/i,
  ],
  ['toolShell', /bash|shell|terminal|run_?command|exec_?command|execute_?command/i],
  ['toolBrowse', /web_?search|brows|navigate|fetch|search_?(?:web|internet|news)|google|url|crawl|scrape/i],
  ['toolComputer', /computer|screenshot|mouse|click|keyboard|scroll/i],
  ['toolSupport', /order|refund|ticket|customer|shipment|subscription|return_?label/i],
]

const codeLine =
  /^\s*(?:def |class \w+[:({ ]|function\b|import [\w{*"']|from \w+ import|const |let |var |return\b|if ?\(|for ?\(|while ?\(|public |private |#include|package \w|fn \w|func \w|async |await |<\/?[a-z]+[\s>]|\}|@\w+|export |type \w+ =)|[;{]\s*$|=>|\w+\([^)\n]{0,80}\)\s*;?$/
const maxCodeLines = 80
const shortWords = 14
const longCharacters = 900

/** Reads the signals in the text and the tools of a prompt, apart from its words. */
export function readForm(
  { userStart, userEnd, system, tools }: PromptSample,
  wordCount: number,
): Set<FormSignal> {
  const text = userEnd === '' ? userStart : `${userStart}\n${userEnd}`
  const signals = new Set<FormSignal>()
  for (const [signal, pattern] of textPatterns) if (pattern.test(text)) signals.add(signal)
  if (hasCode(text)) signals.add('codeText')
  if (wordCount <= shortWords) signals.add('short')
  if (text.length >= longCharacters) signals.add('long')
  if (system !== '') signals.add('sys')
  if (tools.length > 0) signals.add('toolAny')
  for (const [signal, pattern] of toolPatterns) {
    if (tools.some((name) => pattern.test(name))) signals.add(signal)
  }
  return signals
}

function hasCode(text: string): boolean {
  if (text.includes('```')) return true
  const lines = text.split('\n', maxCodeLines).filter((line) => line.length < 400 && codeLine.test(line))
  return lines.length >= 2 || /`[^`\n]{1,80}\([^`\n]{0,80}\)`/.test(text)
}
