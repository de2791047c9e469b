// Scrolling by touch: what is seen follows the finger, and glides on when it is lifted.

const FRICTION = 0.95
/** Pixels from which a touch is no click. */
const SLOP = 6

export class Glide {
  /** @param {(pixels: number) => void} scrollBy */
  constructor (scrollBy) {
    this.scrollBy = scrollBy
    this.pointer = null
    this.frame = null
    this.hasMoved = false
  }

  down (event) {
    this.hasMoved = false
    this.stop()
    if (event.pointerType !== 'touch') return
    this.pointer = event.pointerId
    this.y = this.startY = event.clientY
    this.speed = 0
  }

  move (event) {
    if (event.pointerId !== this.pointer) return
    const distance = this.y - event.clientY
    this.y = event.clientY
    this.speed = 0.7 * distance + 0.3 * this.speed
    if (Math.abs(event.clientY - this.startY) > SLOP) this.hasMoved = true
    if (this.hasMoved) this.scrollBy(distance)
  }

  up (event) {
    if (event.pointerId !== this.pointer) return
    this.pointer = null
    if (!this.hasMoved || window.matchMedia('(prefers-reduced-motion: reduce)').matches) return
    const step = () => {
      this.speed *= FRICTION
      this.scrollBy(this.speed)
      this.frame = Math.abs(this.speed) < 0.5 ? null : window.requestAnimationFrame(step)
    }
    this.frame = window.requestAnimationFrame(step)
  }

  stop () {
    window.cancelAnimationFrame(this.frame)
    this.frame = null
  }
}
