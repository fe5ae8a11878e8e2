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
        <Button
          size="compact-sm"
          variant="default"
          title="K"
          disabled={place.previous === null}
          onClick={() => open(place.previous)}
        >
          Previous
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          title="J"
          disabled={place.next === null}
          onClick={() => open(place.next)}
        >
          Next
        </Button>
      </Group>
    </Group>
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
