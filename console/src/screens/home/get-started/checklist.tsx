import { Accordion, Group, Text, ThemeIcon } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { CheckIcon } from '../../../components/icons.tsx'

export interface Step {
  id: string
  title: string
  /** One line: what is to do, or what is there. */
  summary: string
  isDone: boolean
  /** Whether the first request works without the step. */
  isOptional?: boolean
  content: ReactNode
}

/** The steps with a tick at those that are done. `openStep` is open, or else the next one; the last one stays open. */
export function Checklist({ steps, openStep }: { steps: Step[]; openStep?: string | undefined }) {
  const [toggled, setToggled] = useState<Record<string, boolean>>({})
  const left = steps.filter(({ isDone }) => !isDone)
  const next = openStep ?? (left.find(({ isOptional }) => !isOptional) ?? left[0])?.id
  const [last, setLast] = useState(next)
  if (next !== undefined && next !== last) setLast(next)
  const isOpen = ({ id }: Step) => toggled[id] ?? id === (next ?? last)
  const toggle = (open: string[]) => {
    const changed = steps.find((step) => isOpen(step) !== open.includes(step.id))
    if (changed) setToggled({ ...toggled, [changed.id]: open.includes(changed.id) })
  }
  return (
    <Accordion
      multiple
      order={2}
      variant="separated"
      value={steps.filter(isOpen).map(({ id }) => id)}
      onChange={toggle}
    >
      {steps.map((step, index) => (
        <Accordion.Item key={step.id} value={step.id}>
          <Accordion.Control>
            <Group wrap="nowrap" gap="sm">
              <StepMark isDone={step.isDone} number={index + 1} />
              <div style={{ minWidth: 0 }}>
                <Text fw={600}>{step.title}</Text>
                <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                  {step.summary}
                </Text>
              </div>
            </Group>
          </Accordion.Control>
          <Accordion.Panel>{step.content}</Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )
}

function StepMark({ isDone, number }: { isDone: boolean; number: number }) {
  return (
    <ThemeIcon
      radius="xl"
      size="md"
      color="teal.8"
      variant={isDone ? 'filled' : 'default'}
      role="img"
      aria-label={isDone ? 'Done' : `Step ${number}`}
    >
      {isDone ? <CheckIcon /> : number}
    </ThemeIcon>
  )
}
