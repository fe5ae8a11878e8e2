import { Anchor, Button, Group, Loader, Modal, Paper, Spoiler, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { curlOf } from '../../api/call.ts'
import { CodeBlock, Copy } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Money } from '../../components/money.tsx'
import { PlainText, RichText } from '../../components/rich-text.tsx'
import { formatCount, formatDuration } from '../../format/number.ts'
import { type Answer, figuresOf } from './answer.ts'
import { type AnswerEntry, shortenData } from './request.ts'

/** Nothing that a model names is fetched: an image is shown only if it came with the reply. */
const imageData = /^data:image\/(png|jpeg|gif|webp);base64,/

/** Shows the answer of a model, with its price and speed. All of it is text, whatever it contains. */
export function AnswerView({ entry, isFormatted }: { entry: AnswerEntry; isFormatted: boolean }) {
  const { answer } = entry
  return (
    <Paper withBorder p="sm" aria-busy={answer.status === 'streaming'}>
      <Stack gap="xs">
        {answer.reasoning && <Reasoning answer={answer} />}
        {answer.text && (isFormatted ? <RichText text={answer.text} /> : <PlainText text={answer.text} />)}
        {[...new Set(answer.images)]
          .filter((url) => imageData.test(url))
          .map((url) => (
            <img key={url} src={url} alt="From the model" style={{ maxWidth: '100%' }} />
          ))}
        {answer.status === 'streaming' && <Loader size="xs" type="dots" aria-label="Waiting for the model" />}
        {answer.status === 'stopped' && (
          <Text size="xs" c="dimmed">
            Stopped
          </Text>
        )}
        {answer.status === 'failed' && <ErrorNotice error={answer.error} />}
        {isEmpty(answer) && (
          <Text size="xs" c="dimmed">
            The reply is empty.
          </Text>
        )}
        {entry.request && <Footer entry={entry} />}
      </Stack>
    </Paper>
  )
}

function isEmpty({ status, text, toolCalls, images }: Answer): boolean {
  return status === 'done' && text === '' && toolCalls.length === 0 && images.length === 0
}

function Reasoning({ answer: { reasoning, text, status } }: { answer: Answer }) {
  const [isOpen, { toggle }] = useDisclosure(false)
  return (
    <div>
      <Button size="compact-xs" variant="subtle" color="gray" onClick={toggle} aria-expanded={isOpen}>
        {isOpen ? 'Hide reasoning' : text || status !== 'streaming' ? 'Show reasoning' : 'Reasoning…'}
      </Button>
      {isOpen && (
        <Paper p="xs" bg="var(--mantine-color-default-hover)">
          <PlainText text={reasoning} />
        </Paper>
      )}
    </div>
  )
}

function Footer({ entry }: { entry: AnswerEntry }) {
  const { answer } = entry
  const [isOpen, setOpen] = useState(false)
  return (
    <Group gap="xs" justify="space-between">
      <FiguresView answer={answer} />
      <Group gap={4}>
        {answer.text && <Copy value={answer.text} label="Copy the answer" />}
        <Button size="compact-xs" variant="subtle" onClick={() => setOpen(true)}>
          Raw
        </Button>
        {answer.generationId && (
          <Anchor size="xs" href={requestUrl(answer.generationId)} target="_blank">
            Details
          </Anchor>
        )}
      </Group>
      {isOpen && <RawModal entry={entry} onClose={() => setOpen(false)} />}
    </Group>
  )
}

function requestUrl(generationId: string): string {
  return new URL(`requests/${encodeURIComponent(generationId)}`, document.baseURI).href
}

function FiguresView({ answer }: { answer: Answer }) {
  const figures = figuresOf(answer)
  const parts = [
    figures.firstTokenMs !== null && `first token ${formatDuration(figures.firstTokenMs)}`,
    figures.totalMs !== null && `total ${formatDuration(figures.totalMs)}`,
    figures.tokensPerSecond !== null && `${formatCount(Math.round(figures.tokensPerSecond))} tokens/s`,
    figures.promptTokens !== null && `${formatCount(figures.promptTokens)} in`,
    figures.cachedTokens > 0 && `${formatCount(figures.cachedTokens)} of them cached`,
    figures.completionTokens !== null && `${formatCount(figures.completionTokens)} out`,
    figures.reasoningTokens > 0 && `${formatCount(figures.reasoningTokens)} of them reasoning`,
    answer.provider,
    isUnusualEnd(answer) && `ended with ${answer.finishReason}`,
  ].filter(Boolean)
  return (
    <Text size="xs" c="dimmed" component="div">
      {figures.cost !== null && (
        <>
          <Money value={figures.cost} />
          {' · '}
        </>
      )}
      {parts.join(' · ')}
    </Text>
  )
}

function isUnusualEnd({ finishReason }: Answer): boolean {
  return finishReason !== null && !['stop', 'tool_calls'].includes(finishReason)
}

function RawModal({ entry: { request, answer }, onClose }: { entry: AnswerEntry; onClose: () => void }) {
  const body = request ?? {}
  return (
    <Modal
      opened
      onClose={onClose}
      title="Request and reply"
      size="xl"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Group gap="xs">
          <Text size="sm" fw={600}>
            Request
          </Text>
          <Copy
            value={curlOf({ method: 'POST', path: '/chat/completions', body })}
            label="Copy as curl, with all attachments"
          />
        </Group>
        <CodeBlock
          code={curlOf({ method: 'POST', path: '/chat/completions', body: shortenData(body) })}
          label="Copy the command as shown"
        />
        <Text size="sm" fw={600}>
          Reply, one event in each line
        </Text>
        <Spoiler maxHeight={400} showLabel="Show all" hideLabel="Show less">
          <CodeBlock code={answer.raw || 'No event has arrived.'} label="Copy the reply" />
        </Spoiler>
      </Stack>
    </Modal>
  )
}
