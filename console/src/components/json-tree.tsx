import { Box, Group, Text, UnstyledButton } from '@mantine/core'
import { useMemo, useState } from 'react'
import { formatCount } from '../format/number.ts'
import { Copy } from './copy.tsx'
import { entryStep, type ListNode as List, nodeOf, summaryOf, textStep } from './json-nodes.ts'

/** Levels that are open at first. */
const openLevels = 2

interface JsonTreeProps {
  /** The accessible name. */
  label: string
  value: unknown
}

/** A value of JSON as a tree. Only what is open is in the document, and long texts and lists are cut. */
export function JsonTree({ label, value }: JsonTreeProps) {
  const code = useMemo(() => JSON.stringify(value, null, 2), [value])
  return (
    <Box
      role="group"
      aria-label={label}
      ff="monospace"
      fz="xs"
      p="xs"
      style={{
        border: '1px solid var(--mantine-color-default-border)',
        borderRadius: 4,
        position: 'relative',
      }}
    >
      <Box pr={32}>
        <Node name={null} value={value} level={0} />
      </Box>
      <Box pos="absolute" top={6} right={6}>
        <Copy value={code} label="Copy the JSON" />
      </Box>
    </Box>
  )
}

interface NodeProps {
  /** Null for the whole value. */
  name: string | null
  value: unknown
  level: number
}

function Node({ name, value, level }: NodeProps) {
  const node = nodeOf(value)
  if (node.kind === 'list') return <ListNode name={name} node={node} level={level} />
  return (
    <Box pl={18} style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      <Name name={name} />
      {node.kind === 'text' ? <LongText text={node.text} /> : node.text}
    </Box>
  )
}

function Name({ name }: { name: string | null }) {
  if (name === null) return null
  return (
    <Text span inherit c="dimmed">
      {name}:{' '}
    </Text>
  )
}

interface ListNodeProps {
  name: string | null
  node: List
  level: number
}

function ListNode({ name, node, level }: ListNodeProps) {
  const [isOpen, setOpen] = useState(level < openLevels)
  const [shown, setShown] = useState(entryStep)
  const { entries } = node
  if (entries.length === 0) {
    return (
      <Box pl={18}>
        <Name name={name} />
        {node.brackets}
      </Box>
    )
  }
  return (
    <Box>
      <UnstyledButton
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        ff="monospace"
        fz="xs"
        style={{ overflowWrap: 'anywhere' }}
      >
        <span aria-hidden="true" style={{ display: 'inline-block', width: 18 }}>
          {isOpen ? '▾' : '▸'}
        </span>
        <Name name={name} />
        {summaryOf(node)}
      </UnstyledButton>
      {isOpen && (
        <Box pl={18}>
          {entries.slice(0, shown).map(([key, child]) => (
            <Node key={key} name={key} value={child} level={level + 1} />
          ))}
          {entries.length > shown && (
            <MoreButton
              label={`Show ${formatCount(Math.min(entryStep, entries.length - shown))} more of ${formatCount(entries.length)}`}
              onClick={() => setShown(shown + entryStep)}
            />
          )}
        </Box>
      )}
    </Box>
  )
}

function LongText({ text }: { text: string }) {
  const [shown, setShown] = useState(textStep)
  const rest = text.length - shown
  return (
    <>
      {JSON.stringify(rest > 0 ? text.slice(0, shown) : text)}
      {rest > 0 && (
        <MoreButton
          label={`Show more (${formatCount(rest)} characters left)`}
          // A text of any length is shown within a few clicks, each of which stays quick.
          onClick={() => setShown(Math.min(shown * 10, shown + 200_000))}
        />
      )}
    </>
  )
}

function MoreButton({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Group pl={18}>
      <UnstyledButton fz="xs" td="underline" onClick={onClick}>
        {label}
      </UnstyledButton>
    </Group>
  )
}
