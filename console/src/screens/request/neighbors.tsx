import { Anchor, Button, Group, Text } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useNavigate, useRouter } from '@tanstack/react-router'
import type { MouseEvent } from 'react'
import { findPlace, readRequestList } from '../../components/request-list.ts'
import { TextLink } from '../../components/text-link.tsx'
import { formatCount } from '../../format/number.ts'

/** The way back to the list, and to its previous and next request, with K and J as well. */
export function Neighbors({ id }: { id: string }) {
  const navigate = useNavigate()
  const list = readRequestList()
  const place = list && findPlace(list, id)
  const open = (neighbor: string | null | undefined) => {
    // The way back still leads to the list.
    if (neighbor) void navigate({ to: '/requests/$id', params: { id: neighbor }, replace: true })
  }
  const openUnlessCovered = (neighbor: string | null | undefined) => {
    if (!document.querySelector('[role="dialog"]')) open(neighbor)
  }
  useHotkeys([
    ['j', () => openUnlessCovered(place?.next)],
    ['k', () => openUnlessCovered(place?.previous)],
  ])
  if (!list || !place) return <TextLink to="/requests">← All requests</TextLink>
  return (
    <Group justify="space-between" gap="xs">
      <BackLink href={list.href} />
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          {formatCount(place.position)} of {formatCount(place.count)}
        </Text>
        <StepButton label="Previous" shortcut="K" to={place.previous} onOpen={open} />
        <StepButton label="Next" shortcut="J" to={place.next} onOpen={open} />
      </Group>
    </Group>
  )
}

interface StepButtonProps {
  label: string
  shortcut: string
  /** The id of the request; null if there is none. */
  to: string | null
  onOpen: (id: string | null) => void
}

function StepButton({ label, shortcut, to, onOpen }: StepButtonProps) {
  return (
    <Button
      size="compact-sm"
      variant="default"
      title={shortcut}
      disabled={to === null}
      onClick={() => onOpen(to)}
    >
      {label}
    </Button>
  )
}

/** A link to an address as the browser has it. */
function BackLink({ href }: { href: string }) {
  const { history } = useRouter()
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return
    event.preventDefault()
    history.push(href)
  }
  return (
    <Anchor href={href} onClick={follow} size="sm">
      ← Back to the list
    </Anchor>
  )
}
