import { expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import type { TestChromium } from '../support/chromium.ts'
import type { TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

/** Counts clicks, and keys that open or send something. Text and Tab between fields are not counted. */
export class Hand {
  clicks = 0
  readonly page: Page

  constructor(page: Page) {
    this.page = page
  }

  async click(target: Locator): Promise<void> {
    this.clicks += 1
    await target.click()
  }

  async press(key: string): Promise<void> {
    this.clicks += 1
    await this.page.keyboard.press(key)
  }

  /** Types into the focused field, and into those after it. */
  async type(...texts: string[]): Promise<void> {
    for (const [index, text] of texts.entries()) {
      if (index > 0) await this.page.keyboard.press('Tab')
      await this.page.keyboard.type(text)
    }
  }

  /** Opens a screen from the menu. */
  openScreen(name: string): Promise<void> {
    const menu = this.page.getByRole('navigation', { name: 'Screens' })
    return this.click(menu.getByRole('link', { name, exact: true }))
  }
}

type Task = (hand: Hand, page: Page) => Promise<void>

/** Defines tests of what an administrator does from Home with at most so many clicks. `docs/console.md` lists them. */
export function createTasks(server: () => TestServer, chromium: () => TestChromium) {
  return (name: string, clicks: number, perform: Task) =>
    test(`${name} (${clicks} clicks)`, async () => {
      const person = await Person.arrive(server(), chromium())
      await person.signIn(server().own.owner.id)
      await person.open('/')
      await person.waitUntilLoaded()
      const hand = new Hand(person.page)
      await perform(hand, person.page)
      expect(hand.clicks).toBeLessThanOrEqual(clicks)
      expect(await chromium().takeProblems()).toEqual([])
      await person.page.context().close()
    }, 60_000)
}
