import { Badge, Box, Button, Group, Loader, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Money } from '../../../components/money.tsx'
import { RichText } from '../../../components/rich-text.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { formatDuration, formatPlural } from '../../../format/number.ts'
import type { Cell } from './matrix.ts'

/** Longer replies are folded. */
const foldedLength = 500

interface VoteCellProps {
  cell: Cell | undefined
  /** How screen readers name the reply: `the reply of sandbox/echo to prompt 1`. */
  name: string
  /** Whether what tells the models apart is hidden. */
  isBlind: boolean
  votes: number
  isChosen: boolean
  /** Null if voting is not possible. */
  onVote: ((isChosen: boolean) => void) | null
}

/** A reply with what it cost, the way to its request, and the votes for it. */
export function VoteCell({ cell, name, isBlind, votes, isChosen, onVote }: VoteCellProps) {
  if (!cell) return <Text c="dimmed">–</Text>
  const { status, text, isShortened, error, generationId } = cell
  return (
    <Stack gap={6} aria-busy={status === 'running'}>
      {text !== '' && <Folded text={text} name={name} />}
      {isShortened && (
        <Text size="xs" c="dimmed">
          Shortened when it was saved.
        </Text>
      )}
      {status === 'running' && <Loader size="xs" type="dots" aria-label={`Waiting for ${name}`} />}
      {status === 'canceled' && (
        <Text size="xs" c="dimmed">
          Canceled
        </Text>
      )}
      {status === 'done' && text === '' && (
        <Text size="xs" c="dimmed">
          Empty reply
        </Text>
      )}
      {error !== null && (
        <Text size="xs" c="red" style={{ overflowWrap: 'anywhere' }}>
          {error}
        </Text>
      )}
      {!isBlind && <Figures cell={cell} />}
      <Group gap="xs">
        {onVote && status === 'done' && (
          <Button
            size="compact-xs"
            variant={isChosen ? 'filled' : 'default'}
            aria-pressed={isChosen}
            aria-label={`${isChosen ? 'Withdraw your vote for' : 'Vote for'} ${name}`}
            onClick={() => onVote(!isChosen)}
          >
            {isChosen ? 'Your vote' : 'Vote'}
          </Button>
        )}
        {!isBlind && votes > 0 && (
          <Badge variant="light" tt="none">
            {formatPlural(votes, 'vote')}
          </Badge>
        )}
        {!isBlind && generationId !== null && status !== 'running' && (
          <TextLink
            to="/requests/$id"
            params={{ id: generationId }}
            size="xs"
            aria-label={`Open the request of ${name}`}
          >
            Request
          </TextLink>
        )}
      </Group>
    </Stack>
  )
}

function Folded({ text, name }: { text: string; name: string }) {
  const [isOpen, setOpen] = useState(false)
  const isLong = text.length > foldedLength
  return (
    <>
      <Box fz="sm" style={{ overflowWrap: 'anywhere' }}>
        <RichText text={isLong && !isOpen ? `${text.slice(0, foldedLength)}…` : text} />
      </Box>
      {isLong && (
        <Button
          size="compact-xs"
          variant="subtle"
          aria-expanded={isOpen}
          aria-label={`${isOpen ? 'Show less' : 'Show all'} of ${name}`}
          onClick={() => setOpen(!isOpen)}
          style={{ alignSelf: 'flex-start' }}
        >
          {isOpen ? 'Show less' : 'Show all'}
        </Button>
      )}
    </>
  )
}

function Figures({ cell: { cost, latency, generationTime } }: { cell: Cell }) {
  if (cost === null && generationTime === null) return null
  return (
    <Text size="xs" c="dimmed" component="div">
      {cost !== null && <Money value={cost} />}
      {latency !== null && ` · first token ${formatDuration(latency)}`}
      {generationTime !== null && ` · total ${formatDuration(generationTime)}`}
    </Text>
  )
}
