import { Badge, Group, Table, Text } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import { type Cell, type Place, shuffle, type Votes } from './matrix.ts'
import { VoteCell } from './vote-cell.tsx'

interface MatrixTableProps {
  models: readonly string[]
  promptCount: number
  cells: readonly Cell[]
  votes: Votes
  /** Whether models, costs and times are hidden, and the order of the replies differs in each row. */
  isBlind: boolean
  /** What the order of a blind comparison depends on. */
  seed: string
  renderPrompt: (prompt: number) => ReactNode
  renderModel?: (model: number) => ReactNode
  /** Null if voting is not possible. */
  onVote: ((prompt: number, model: number | null) => void) | null
}

const columnWidth = 260

/** Prompts from top to bottom, models from left to right. */
export function MatrixTable(props: MatrixTableProps) {
  const { models, promptCount, cells, isBlind } = props
  const found = useMemo(() => new Map(cells.map((cell) => [keyOf(cell), cell])), [cells])
  return (
    <Table.ScrollContainer minWidth={columnWidth * (models.length + 1)}>
      <Table verticalSpacing="sm" layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Prompt</Table.Th>
            {models.map((name, model) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a model can be there twice, and its place is what it is
              <Table.Th key={model} style={{ overflowWrap: 'anywhere' }}>
                {isBlind ? `Reply ${letterOf(model)}` : (props.renderModel?.(model) ?? name)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Array.from({ length: promptCount }, (_, prompt) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the place of a prompt is what it is
            <Table.Tr key={prompt} style={{ verticalAlign: 'top' }}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{props.renderPrompt(prompt)}</Table.Td>
              <Replies prompt={prompt} found={found} {...props} />
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

interface RepliesProps extends MatrixTableProps {
  prompt: number
  found: ReadonlyMap<string, Cell>
}

function Replies({ prompt, found, models, votes, isBlind, seed, onVote }: RepliesProps) {
  const inOrder = models.map((_, model) => model)
  const order = isBlind ? shuffle(models.length, `${seed} ${prompt}`) : inOrder
  return order.map((model, position) => {
    const place = { prompt, model }
    const shownName = isBlind ? `reply ${letterOf(position)}` : `the reply of ${models[model]}`
    return (
      <Table.Td key={model}>
        <VoteCell
          cell={found.get(keyOf(place))}
          name={`${shownName} to prompt ${prompt + 1}`}
          isBlind={isBlind}
          votes={votes.votes.find((vote) => keyOf(vote) === keyOf(place))?.count ?? 0}
          isChosen={votes.own_votes.some((vote) => keyOf(vote) === keyOf(place))}
          onVote={onVote && ((isChosen) => onVote(prompt, isChosen ? model : null))}
        />
      </Table.Td>
    )
  })
}

function keyOf({ prompt, model }: Place): string {
  return `${prompt} ${model}`
}

function letterOf(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index)
}

/** What a blind comparison says above its table. */
export function BlindNotice({ voted, total }: { voted: number; total: number }) {
  return (
    <Group gap="xs">
      <Badge variant="light" tt="none">
        Blind
      </Badge>
      <Text size="sm" c="dimmed">
        Models, costs and times appear once you have voted on every prompt: {voted} of {total}.
      </Text>
    </Group>
  )
}
