/** Draws every node as a cell. Only visible cells are drawn, at most once per frame. The table beside it has the same content as text. */
import { useSignalEffect } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Row } from '../../wire.js';
import { signs, stateOrder, stateToken } from '../parts/signs.js';
import { link, navigate } from '../router.js';
import { isDark } from '../theme.js';
import { type CellLayout, cellAt, layOut, titleHeight, visibleCells } from './cell-layout.js';
import { flagsOf, type Group } from './fleet-view.js';

interface Props {
  groups: Group[];
  label: string;
  onPoint(row: Row | undefined): void;
}

export function Cells({ groups, label, onPoint }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { painter, size } = usePainter(box, canvas);
  const layout = layOut(groups, size.width);
  useEffect(() => painter.current?.show(layout, size));

  const rowAt = (event: MouseEvent): Row | undefined => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    return cellAt(layout, event.clientX - left, event.clientY - top + box.current!.scrollTop);
  };
  return (
    <div class="cells" ref={box} onScroll={() => painter.current?.request()}>
      {/* The picture for those who see it: everything in it is in the table, by keyboard and in words. */}
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        onMouseMove={(event) => onPoint(rowAt(event))}
        onMouseLeave={() => onPoint(undefined)}
        onClick={(event) => {
          const row = rowAt(event);
          if (row) navigate(link(['nodes', row.name]));
        }}
      />
      <div class="spacer" style={{ height: `${Math.max(0, layout.height - size.height)}px` }} />
    </div>
  );
}

/** Outside of the component: an effect that runs once would keep the rows of the first rendering there. */
function usePainter(box: RefObject<HTMLDivElement | null>, canvas: RefObject<HTMLCanvasElement | null>) {
  const painter = useRef<Painter | undefined>(undefined);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect;
      setSize({ width: Math.floor(width), height: Math.floor(height) });
    });
    watcher.observe(box.current!);
    painter.current = new Painter(canvas.current!, box.current!);
    return () => {
      watcher.disconnect();
      painter.current?.stop();
    };
  }, []);
  useSignalEffect(() => {
    isDark.value;
    painter.current?.changeColours();
  });
  return { painter, size };
}

/** Draws the part of the layout that its box is scrolled to. */
class Painter {
  readonly #canvas: HTMLCanvasElement;
  readonly #box: HTMLElement;
  #layout: CellLayout = layOut([], 0);
  #size = { width: 0, height: 0 };
  #frame: number | undefined;
  /** A drawn cell for each state and set of flags: copying it is much cheaper than drawing its path. */
  #sprites = new Map<string, HTMLCanvasElement>();

  constructor(canvas: HTMLCanvasElement, box: HTMLElement) {
    this.#canvas = canvas;
    this.#box = box;
  }

  show(layout: CellLayout, size: { width: number; height: number }): void {
    if (layout.pitch !== this.#layout.pitch) this.#sprites.clear();
    this.#layout = layout;
    if (size.width !== this.#size.width || size.height !== this.#size.height) {
      this.#size = size;
      this.#canvas.width = size.width * devicePixelRatio;
      this.#canvas.height = size.height * devicePixelRatio;
      this.#canvas.style.width = `${size.width}px`;
      this.#canvas.style.height = `${size.height}px`;
    }
    this.request();
  }

  changeColours(): void {
    this.#sprites.clear();
    this.request();
  }

  request(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#draw();
    });
  }

  stop(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  #draw(): void {
    const context = this.#canvas.getContext('2d')!;
    const { groups, pitch, perRow } = this.#layout;
    const scroll = this.#box.scrollTop;
    const bottom = scroll + this.#size.height;
    const style = getComputedStyle(this.#box);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, this.#size.width, this.#size.height);
    context.font = `500 12px ${style.fontFamily}`;
    context.textBaseline = 'middle';
    for (const group of groups) {
      if (group.bottom < scroll || group.top > bottom) continue;
      const y = group.top - scroll;
      context.fillStyle = style.getPropertyValue('--muted');
      context.fillText(`${group.title}  ${group.rows.length.toLocaleString('en')}`, 0, y + titleHeight / 2);
      const { first, end } = visibleCells(this.#layout, group, scroll, bottom);
      for (let at = first; at < end; at++) {
        const sprite = this.#sprite(group.rows[at]!, style);
        const top = y + titleHeight + Math.floor(at / perRow) * pitch;
        context.drawImage(sprite, (at % perRow) * pitch, top, pitch, pitch);
      }
    }
  }

  #sprite(row: Row, style: CSSStyleDeclaration): HTMLCanvasElement {
    const key = `${row.state} ${row.ready} ${row.held}`;
    const known = this.#sprites.get(key);
    if (known) return known;
    const { pitch } = this.#layout;
    const sprite = document.createElement('canvas');
    sprite.width = sprite.height = Math.round(pitch * devicePixelRatio);
    const context = sprite.getContext('2d')!;
    // The sign's box of 12, with a gap of one pixel around it.
    const gap = pitch > 12 ? 2 : 1;
    const scale = (pitch - gap) / 12;
    context.scale(devicePixelRatio * scale, devicePixelRatio * scale);
    context.fillStyle = style.getPropertyValue(stateToken(row.state));
    context.fill(new Path2D(signs[row.state] ?? signs[stateOrder[0]!]), 'evenodd');
    context.strokeStyle = style.getPropertyValue('--text');
    context.lineWidth = 1.6;
    if (flagsOf(row).includes('not ready')) context.stroke(new Path2D('M0.5 11.5L11.5 0.5'));
    if (row.held) context.stroke(new Path2D('M0 11.2h12'));
    this.#sprites.set(key, sprite);
    return sprite;
  }
}
