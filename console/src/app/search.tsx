import { Button, Kbd } from '@mantine/core'
import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight'
import { useNavigate } from '@tanstack/react-router'
import { SearchIcon } from '../components/icons.tsx'
import { visibleNavigation } from './navigation.ts'
import { useSession } from './session.tsx'

/** Finds screens by name; opened with Ctrl or ⌘ and K. */
export function Search() {
  const navigate = useNavigate()
  const actions: SpotlightActionData[] = visibleNavigation(useSession())
    .flatMap(({ items }) => items)
    .map(({ label, to, keywords }) => ({
      id: to,
      label,
      ...(keywords && { keywords }),
      onClick: () => void navigate({ to }),
    }))
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={<SearchIcon />}
        rightSection={<Kbd size="xs">⌘K</Kbd>}
        onClick={spotlight.open}
        aria-label="Search"
      >
        Search
      </Button>
      <Spotlight
        actions={actions}
        shortcut={['mod + K', '/']}
        nothingFound="Nothing found"
        searchProps={{ placeholder: 'Search screens', 'aria-label': 'Search screens' }}
        highlightQuery
      />
    </>
  )
}
